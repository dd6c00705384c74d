# syntax=docker/dockerfile:1
# A small image that serves a memory as a user without rights. See docs/deploy.md.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN python -m venv /opt/rememo \
    && /opt/rememo/bin/pip install --no-cache-dir ".[encrypt,mcp,otel,postgres,redis,s3,server]"

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home rememo
COPY --from=build /opt/rememo /opt/rememo
ENV PATH=/opt/rememo/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/readyz', timeout=2)"]
ENTRYPOINT ["rememo"]
CMD ["serve", "--host", "0.0.0.0", "--log", "json"]
