# geobias with its bundled models, on the CPU: docs/how-to/install.md
FROM python:3.12-slim
# Every user may write these: `docker run --user` gives the container a number that it has no name and no home for.
ENV PIP_NO_CACHE_DIR=1 HOME=/tmp USER=geobias GEOBIAS_CACHE=/tmp/geobias HF_HOME=/tmp/huggingface
# The CPU build of torch is ten times smaller than the one that pip would choose.
RUN pip install torch --index-url https://download.pytorch.org/whl/cpu
WORKDIR /geobias
COPY pyproject.toml README.md LICENSE LICENSE-DATA.md ./
COPY src src
RUN pip install . && rm -rf /geobias
RUN mkdir --mode=1777 /audit
WORKDIR /audit
# Not root: the user's folder is mounted at /audit. To write there, run with the number of its owner (--user).
USER 1000:1000
ENTRYPOINT ["geobias"]
CMD ["audit"]
