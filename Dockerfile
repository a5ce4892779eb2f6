# geobias with its bundled models, on the CPU: docs/how-to/install.md
FROM python:3.12-slim
ENV PIP_NO_CACHE_DIR=1 GEOBIAS_CACHE=/tmp/geobias HF_HOME=/tmp/huggingface
# The CPU build of torch is ten times smaller than the one that pip would choose.
RUN pip install torch --index-url https://download.pytorch.org/whl/cpu
WORKDIR /geobias
COPY pyproject.toml README.md LICENSE LICENSE-DATA.md ./
COPY src src
RUN pip install . && rm -rf /geobias
WORKDIR /audit
ENTRYPOINT ["geobias"]
CMD ["audit"]
