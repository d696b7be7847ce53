#!/usr/bin/env bash
# What a script does with curl. Only its first lines know of Spillway.
set -euo pipefail

# docs: configure
# The gateway, the upstream's name, and the version.
graph=${GRAPH_URL:-https://spillway.example/graph}/v1.0

# --proto: a token never goes in the clear, whatever a link says; --fail-with-body: an error is an error;
# --retry obeys Retry-After; --max-time: a call may be held for 30 s.
call() {
    curl --silent --show-error --proto =https --fail-with-body --retry 3 --max-time 100 \
        -H "Authorization: Bearer $GRAPH_TOKEN" -H "Spillway-Token: ${SPILLWAY_TOKEN:-}" "$@"
}
# docs: end

# docs: call
# All pages of a list: a nextLink comes back as the gateway's own.
next="$graph/me/onenote/pages?\$select=id"
while [[ -n $next ]]; do
    part=$(call "$next")
    jq -r '.value[].id' <<<"$part"
    next=$(jq -r '."@odata.nextLink" // empty' <<<"$part")
done
# docs: end

section=$(call "$graph/me/onenote/sections" | jq -r '.value[0].id')
call -H 'Content-Type: text/html' --data '<html><head><title>Written</title></head><body>by curl</body></html>' \
    "$graph/me/onenote/sections/$section/pages" | jq -r '"written " + .title'
