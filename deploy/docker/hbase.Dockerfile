# HBase with its Thrift 1 gateway in one container, for a trial. In production: docs/deployment.md#hbase.
FROM eclipse-temurin:17-jre-jammy
# The build for Hadoop 3 is the one that runs on Java 17. The tests use the same version.
ARG HBASE_VERSION=2.6.1
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN useradd --uid 10002 --home-dir /opt/hbase --no-create-home hbase \
    && mkdir -p /opt/hbase /data \
    && curl -fsSL "https://archive.apache.org/dist/hbase/${HBASE_VERSION}/hbase-${HBASE_VERSION}-hadoop3-bin.tar.gz" \
        | tar -xz --strip-components=1 -C /opt/hbase \
    && chown -R 10002 /opt/hbase /data
COPY hbase.sh /opt/
ENV PATH=/opt/hbase/bin:$PATH
USER 10002
VOLUME /data
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s CMD ["bash", "-c", "</dev/tcp/127.0.0.1/9090"]
CMD ["bash", "/opt/hbase.sh"]
