# HBase with its Thrift 1 gateway in one container, for a trial. In production: docs/hbase.md.
FROM eclipse-temurin:17-jre-jammy
ARG HBASE_VERSION=2.6.3
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN useradd --system --uid 10002 --home-dir /opt/hbase hbase \
    && mkdir -p /opt/hbase /data \
    && curl -fsSL "https://archive.apache.org/dist/hbase/${HBASE_VERSION}/hbase-${HBASE_VERSION}-bin.tar.gz" \
        | tar -xz --strip-components=1 -C /opt/hbase \
    && chown -R 10002 /opt/hbase /data
ENV PATH=/opt/hbase/bin:$PATH
USER 10002
VOLUME /data
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s CMD ["bash", "-c", "</dev/tcp/127.0.0.1/9090"]
CMD ["bash", "-c", "hbase-daemon.sh start master -D hbase.rootdir=file:///data/hbase && exec hbase thrift start"]
