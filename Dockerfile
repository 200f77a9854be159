# spanward as an image: docker build -t spanward .
# docker run --read-only -p 4317:4317 -p 9464:9464 -v ./specs:/etc/spanward/specs:ro \
#   -v spanward:/var/lib/spanward -e SPANWARD_VERDICTS=http://collector:4319 spanward

FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /opt/spanward
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY examples ./examples
RUN /opt/spanward/bin/pip install --no-cache-dir --no-compile .

FROM python:3.12-slim
# Nothing is written at run time but the store, so the root file system can be read-only.
ENV PATH=/opt/spanward/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SPANWARD_BIND=0.0.0.0 \
    SPANWARD_SPECS=/etc/spanward/specs \
    SPANWARD_STORE=/var/lib/spanward/spanward.db
COPY --from=build /opt/spanward /opt/spanward
COPY deploy/spanward.yaml /etc/spanward/spanward.yaml
COPY examples/specs /etc/spanward/specs
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/spanward
VOLUME /var/lib/spanward
# A number, so that a cluster can see that it is not root.
USER 10001:10001
EXPOSE 4317 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["spanward", "healthcheck"]
# Exec form: SIGTERM reaches the service, which then drains.
ENTRYPOINT ["spanward", "serve"]
CMD ["--config", "/etc/spanward/spanward.yaml"]
