"""Language models of every architecture of transformers, small and random, beside scores computed plainly.

`python -m tests.models.architectures` checks all that can be built; `tests/models/test_architectures.py` some of them.
"""
