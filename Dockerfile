# geobias with its bundled models, on the CPU: docs/how-to/install.md
FROM python:3.11-slim
# Every user may write these: `docker run --user` gives the container a number that it has no name and no home for.
ENV PIP_NO_CACHE_DIR=1 HOME=/tmp USER=geobias GEOBIAS_CACHE=/tmp/geobias HF_HOME=/tmp/huggingface
WORKDIR /geobias
COPY pyproject.toml requirements-container.txt README.md LICENSE LICENSE-DATA.md ./
# The files of this list and no others: `make hashes` writes it for this Python on Linux x86-64.
RUN pip install --require-hashes --no-deps --requirement requirements-container.txt
# The CPU build of torch is ten times smaller than the one that pip would choose.
RUN pip install --no-deps torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
COPY src src
RUN pip install --no-deps --no-build-isolation . && rm -rf /geobias
RUN mkdir --mode=1777 /audit
WORKDIR /audit
# Not root: the user's folder is mounted at /audit. To write there, run with the number of its owner (--user).
USER 1000:1000
ENTRYPOINT ["geobias"]
CMD ["audit"]
