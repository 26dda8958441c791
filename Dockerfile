# One image for the Action, for `docker run` and for the command line in it. A release pins the base by its digest.
ARG BASE_IMAGE=python:3.13-slim-bookworm

FROM ${BASE_IMAGE} AS build
WORKDIR /build
COPY requirements/build.txt requirements/runtime.txt requirements/
# Wheels of the lock only: nothing is compiled, and nothing is fetched that it does not name.
RUN python3 -m venv /opt/tools \
    && /opt/tools/bin/python -m pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements/build.txt \
    && python3 -m venv --without-pip /opt/venv \
    && /opt/tools/bin/python -m pip --python /opt/venv/bin/python install --no-cache-dir --no-compile \
        --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
# An archive names its commit itself; whoever builds from a checkout can tell it.
ARG COMMIT=""
RUN sed -i "s/[\$]Format:%H[\$]/${COMMIT:-&}/" src/rollout_compare/version.py
# -I: neither the workspace nor a variable of an earlier step can bring in code. Compiled with hashes that are not
# checked, a start reads no source; and the same source makes the same files.
RUN /opt/tools/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --no-index --wheel-dir dist . \
    && /opt/tools/bin/python -m pip --python /opt/venv/bin/python install --no-cache-dir --no-compile --no-deps \
        --no-index dist/*.whl \
    && sed -i '1s|.*|#!/opt/venv/bin/python -I|' /opt/venv/bin/rollout-compare /opt/venv/bin/rollout-compare-action \
    && /opt/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/venv/lib

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="rollout-compare" \
      org.opencontainers.image.description="Compares two rollout files task by task, and says whether it is real" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/venv /opt/venv
# By absolute path: a runner may pass another PATH. action.yml names the Action's own command.
ENTRYPOINT ["/opt/venv/bin/rollout-compare"]
