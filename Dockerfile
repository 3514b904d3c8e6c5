# With its digest, so that every build has the same base. `docker buildx imagetools inspect node:24-slim` prints the newest one.
ARG NODE_IMAGE=node:24-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

# On the platform of the machine that builds: what it makes runs on each platform, and no machine needs to be emulated.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY packages/reconcile/package.json packages/reconcile/
COPY packages/sdk/package.json packages/sdk/
COPY packages/statements/package.json packages/statements/
RUN npm ci --ignore-scripts
COPY . .
# What is installed is what `npm pack` packs, with the packages that it needs, and the list of these.
RUN npm run build && npm pack --ignore-scripts && mkdir /app \
  && tar --extract --gzip --strip-components=1 --directory=/app --file="$(ls ledgerbell-*.tgz)"
# Some packages have compiled code for each platform. npm installs that of the image, which may be another one than this machine's.
# npm (11) leaves the compiler behind, which others name as a package that they can be used with.
ARG TARGETARCH
RUN own="$(node --print process.arch)" \
  && case "$TARGETARCH" in '') cpu="$own" ;; amd64) cpu=x64 ;; *) cpu="$TARGETARCH" ;; esac \
  && export npm_config_cpu="$cpu" \
  && if [ "$cpu" != "$own" ]; then npm ci --ignore-scripts; fi \
  && npm sbom --omit=dev --sbom-type=application --sbom-format=spdx > /app/sbom.spdx.json \
  && npm prune --omit=dev --ignore-scripts && rm -r node_modules/typescript node_modules/@typescript node_modules/@ledgerbell && mv node_modules /app/ \
  && find /app/node_modules -type f \( -name '*.map' -o -name '*.[cm]ts' -o -name '*.ts' \) -delete \
  && find /app/node_modules -type d -empty -delete

# Without RUN, which would need a machine of the image's platform.
FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 OPS_PORT=3001
WORKDIR /app
COPY --from=build /app ./
USER node
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
# Every role has the operators' listener. It is on loopback unless OPS_HOST and ADMIN_PASSWORD are set. Its certificate may have any
# name, and is not checked.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "const { OPS_PORT, OPS_TLS_CERT_FILE } = process.env; if (OPS_TLS_CERT_FILE) process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; fetch(`http${OPS_TLS_CERT_FILE ? 's' : ''}://127.0.0.1:${OPS_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/src/main.js"]
