"""geobias inside other tools: Hugging Face Hub, Every Eval Ever, Inspect, lm-evaluation-harness and MLflow.

Each module needs the package that it is named after; nothing else of geobias imports them.
"""
