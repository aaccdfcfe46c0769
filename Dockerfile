# PostgreSQL with pg_cron, and PgBouncer, for `npm start` and `npm test` on a machine with Docker. The container only
# waits: scripts/stack/container.ts starts the servers in it, as on any other machine.
ARG DEBIAN=trixie
FROM debian:${DEBIAN}-slim
ARG POSTGRES=17
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
RUN apt-get update \
  && mkdir -p /etc/postgresql-common/createcluster.d \
  && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.d/tock.conf \
  && apt-get install -y --no-install-recommends \
    postgresql-${POSTGRES} postgresql-${POSTGRES}-cron pgbouncer tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o postgres -g postgres -m 700 /var/lib/tock
USER postgres
WORKDIR /var/lib/tock
ENTRYPOINT ["tini", "--"]
CMD ["sleep", "infinity"]
