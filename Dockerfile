# spanward as an image. From the top of the repository:
#
#   docker build -t spanward .
#   docker run --read-only --cap-drop ALL --stop-timeout 30 \
#     -p 127.0.0.1:4317:4317 -p 127.0.0.1:4318:4318 -p 127.0.0.1:9464:9464 \
#     -v ./specs:/etc/spanward/specs:ro -v spanward:/var/lib/spanward spanward
#
# The other commands are there too: docker run --rm -v ./specs:/specs:ro spanward lint /specs

# Another base must have Python 3.11 or later as `python`, with venv and pip.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /src
# What is installed is what the hashes say, also what builds the wheel; and wheels only, so that
# nobody's setup.py runs here. `deploy/image/lock` writes the two lists.
COPY deploy/image/build.txt deploy/image/requirements.txt ./
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --only-binary :all: --require-hashes -r build.txt \
    && python -m venv --without-pip /opt/spanward \
    && /opt/build/bin/pip --python /opt/spanward/bin/python install \
        --no-cache-dir --no-compile --only-binary :all: --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY examples ./examples
# Compiled here, because nothing can be written later; by content, so that two builds are alike.
RUN /opt/build/bin/pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /dist . \
    && /opt/build/bin/pip --python /opt/spanward/bin/python install \
        --no-cache-dir --no-compile --no-index --no-deps /dist/*.whl \
    && /opt/spanward/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/spanward

FROM ${BASE}
LABEL org.opencontainers.image.title="spanward" \
    org.opencontainers.image.description="Behaviour specs for AI agents, judged live" \
    org.opencontainers.image.licenses="Apache-2.0"
# Nothing is written at run time but the store, so the root file system can be read-only. (SQLite
# may want a temporary file; it has the store's directory for that.)
ENV PATH=/opt/spanward/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SPANWARD_BIND=0.0.0.0 \
    SPANWARD_SPECS=/etc/spanward/specs \
    SPANWARD_STORE=/var/lib/spanward/spanward.db \
    SQLITE_TMPDIR=/var/lib/spanward
COPY --from=build /opt/spanward /opt/spanward
COPY deploy/spanward.yaml /etc/spanward/spanward.yaml
COPY examples/specs /etc/spanward/specs
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/spanward
VOLUME /var/lib/spanward
WORKDIR /var/lib/spanward
# A number, so that a cluster can see that it is not root.
USER 10001:10001
EXPOSE 4317 4318 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s \
    CMD ["spanward", "healthcheck"]
# Exec form: SIGTERM reaches the service, which then drains.
ENTRYPOINT ["spanward"]
CMD ["serve", "--config", "/etc/spanward/spanward.yaml"]
