# crowdassay serve in a container: docker build --tag crowdassay . && docker run --publish 127.0.0.1:8765:8765 --volume jobs:/jobs crowdassay
FROM python:3.11-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /app && /app/bin/pip install --no-cache-dir '.[web]'

FROM python:3.11-slim
COPY --from=build /app /app
RUN useradd --system --uid 10001 --home-dir /jobs --create-home crowdassay
USER crowdassay
WORKDIR /jobs
VOLUME /jobs
ENV PATH=/app/bin:$PATH NUMBA_CACHE_DIR=/jobs/.numba PYTHONUNBUFFERED=1
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/health', timeout=2)"]
# Inside a container the address of all interfaces is that of the container; --publish decides who reaches it.
ENTRYPOINT ["crowdassay", "serve", "--host", "0.0.0.0"]
CMD ["/jobs/job.db", "--token", "/jobs/token"]
