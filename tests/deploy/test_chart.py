"""The Helm chart: what it renders says the same as the service, the alerts and the documentation.

That it is valid for Kubernetes is checked by ``.ci/run helm``, with other programs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

import spanward
from spanward.config import Config, Endpoint, load_config
from spanward.errors import Problems, render_all
from spanward.specs.files import sources
from tests.deploy.tools import DEPLOY, tool

CHART: Final = DEPLOY / "helm" / "spanward"
VALUES: Final = sorted((DEPLOY / "helm" / "values").glob("*.yaml"))
EXAMPLES: Final = [pytest.param(file, id=file.stem) for file in VALUES]
NAME: Final = "demo-spanward"
POD_IP: Final = "10.1.2.3"

Object = dict[str, Any]


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    """Run helm. It says on standard error that it follows the link to the alerts."""
    return subprocess.run([tool("helm"), *words], capture_output=True, text=True, check=False)


def rendered(*options: str, chart: Path = CHART) -> list[Object]:
    """The objects that the chart makes of some options."""
    ran = helm("template", "demo", str(chart), "--namespace", "agents", *options)
    assert ran.returncode == 0, ran.stderr
    return [each for each in yaml.safe_load_all(ran.stdout) if each]


def refusal(*options: str) -> str:
    """What helm says of options that it refuses."""
    ran = helm("template", "demo", str(CHART), *options)
    assert ran.returncode != 0, ran.stdout
    return ran.stderr


def one(objects: Iterable[Object], kind: str, name: str = NAME) -> Object:
    """The object of a kind and a name."""
    found = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


def kinds(objects: Iterable[Object]) -> set[str]:
    """Which kinds of objects there are."""
    return {each["kind"] for each in objects}


def pods(objects: Iterable[Object]) -> list[Object]:
    """The specs of all pods."""
    return [
        each["spec"]["template"]["spec"] for each in objects if "template" in each.get("spec", {})
    ]


def container(pod: Object) -> Object:
    """The container of spanward itself."""
    all_of_them = [*pod.get("initContainers", []), *pod["containers"]]
    return next(each for each in all_of_them if each["name"] == "spanward")


def config_of(objects: Iterable[Object], folder: Path) -> tuple[Config, Problems]:
    """The service's configuration, as the service reads it, and what it finds wrong."""
    data = one(objects, "ConfigMap", f"{NAME}-config")["data"]
    (file := folder / "spanward.yaml").write_text(data["spanward.yaml"], encoding="utf-8")
    problems = Problems()
    return load_config(file, problems, {"POD_IP": POD_IP}), problems


# --- the service's configuration


@pytest.mark.parametrize("values", EXAMPLES)
def test_the_service_accepts_its_configuration(values: Path, tmp_path: Path) -> None:
    """Without a warning; and it answers to those who call it by the pod's IP."""
    config, problems = config_of(rendered("--values", str(values)), tmp_path)
    assert render_all(problems.found) == ""
    assert config.allowed_hosts == (POD_IP,)
    assert config.admin == Endpoint("0.0.0.0", 9464)  # noqa: S104  in a pod


def test_a_sidecar_hears_its_own_pod_only(tmp_path: Path) -> None:
    """And a gateway everybody whom the network policy lets through."""
    sidecar, _ = config_of(rendered("--set", "mode=sidecar"), tmp_path)
    gateway, _ = config_of(rendered("--set", "mode=gateway"), tmp_path)
    assert [sidecar.grpc.endpoint.host, sidecar.http.endpoint.host] == ["127.0.0.1"] * 2
    assert [gateway.grpc.endpoint.host, gateway.http.endpoint.host] == ["0.0.0.0"] * 2  # noqa: S104


def test_what_the_user_configures_is_laid_over(tmp_path: Path) -> None:
    """One key more or another value, and the rest stays."""
    options = ("--set", "config.sessions.settle=3s", "--set", "config.store.kind=memory")
    config, problems = config_of(rendered(*options), tmp_path)
    assert not problems.found
    assert (config.limits.settle, config.store, config.jsonl) == (3.0, None, "-")


@pytest.mark.parametrize("values", EXAMPLES)
def test_the_service_makes_room_before_the_kernel_does(values: Path, tmp_path: Path) -> None:
    """Its own limits of memory are below the container's."""
    objects = rendered("--values", str(values))
    config, _ = config_of(objects, tmp_path)
    (pod,) = pods(objects)
    most = container(pod)["resources"]["limits"]["memory"]
    mib = int(most[:-2]) * {"Mi": 1, "Gi": 1024}[most[-2:]]
    assert config.memory.soft_mib is not None
    assert config.memory.hard_mib is not None
    assert config.memory.soft_mib < config.memory.hard_mib < 0.9 * mib


@pytest.mark.parametrize("values", EXAMPLES)
def test_the_stores_folder_can_be_written_and_outlives_the_process(values: Path) -> None:
    """Everything else is read-only, and nobody is root."""
    for pod in pods(objects := rendered("--values", str(values))):
        mine = container(pod)
        mounts = {mount["mountPath"]: mount for mount in mine["volumeMounts"]}
        assert [path for path, mount in mounts.items() if not mount.get("readOnly")] == [
            "/var/lib/spanward"
        ]
        claims = [
            claim["metadata"]["name"]
            for each in objects
            for claim in each.get("spec", {}).get("volumeClaimTemplates", [])
        ]
        known = {volume["name"] for volume in pod["volumes"]} | set(claims)
        assert {mount["name"] for mount in mounts.values()} <= known
        security = mine["securityContext"]
        assert security["readOnlyRootFilesystem"]
        assert security["runAsNonRoot"]
        assert security["capabilities"] == {"drop": ["ALL"]}


def test_a_changed_spec_replaces_the_pods() -> None:
    """The specs and the configuration are a part of what a pod is."""

    def checksum(*options: str) -> str:
        stateful = one(rendered(*options), "StatefulSet")
        return str(stateful["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    sums = {checksum(), checksum("--set", r"specs.a\.yaml=a"), checksum("--set", "drain=true")}
    assert len(sums) == 2, "drain is an argument, and no matter of the checksum"
    assert checksum("--set", "config.sessions.settle=3s") not in sums


def test_specs_are_read_once_from_a_config_map(tmp_path: Path) -> None:
    """The kubelet shows each file by way of two links, and its folders are hidden ones."""
    (real := tmp_path / "..2026_01_01").mkdir()
    (real / "a.yaml").write_text("name: a", encoding="utf-8")
    (tmp_path / "..data").symlink_to(real.name)
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    found = list(sources([tmp_path], Problems()))
    assert [source.text for source in found] == ["name: a"]


# --- secrets


def test_secrets_are_where_the_configuration_says(tmp_path: Path) -> None:
    """TLS and the token: the files that it names are mounted."""
    names = ("tls.existingSecret=t", "tls.clientCA=true", "bearerToken.existingSecret=b")
    objects = rendered("--set", ",".join(names), "--set", "bearerToken.key=secret")
    config, problems = config_of(objects, tmp_path)
    assert render_all(problems.found) == ""
    files = set()
    for receiver in (config.grpc, config.http):
        assert receiver.tls is not None
        files |= {receiver.tls.cert, receiver.tls.key, receiver.tls.client_ca}
        files |= {receiver.bearer_token_file}
    (pod,) = pods(objects)
    folders = {mount["mountPath"] for mount in container(pod)["volumeMounts"]}
    assert {str(file.parent) for file in files if file} <= folders
    assert len(files) == 4
    token = next(each for each in pod["volumes"] if each["name"] == "spanward-token")
    assert token["secret"]["items"] == [{"key": "secret", "path": "token"}]
    (plain,) = pods(rendered())
    assert {"spanward-tls", "spanward-token"}.isdisjoint(v["name"] for v in plain["volumes"])


# --- replicas


def test_one_replica_has_a_service_and_many_have_names() -> None:
    """A service in front of many would spread a session over them."""
    alone = rendered()
    ports = one(alone, "Service")["spec"]["ports"]
    assert [port["port"] for port in ports] == [4317, 4318]
    assert "PodDisruptionBudget" not in kinds(alone)
    many = rendered("--set", "gateway.replicas=3")
    services = [each for each in many if each["kind"] == "Service"]
    assert [each["spec"]["clusterIP"] for each in services] == ["None"]
    assert one(many, "StatefulSet")["spec"]["serviceName"] == services[0]["metadata"]["name"]
    assert one(many, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_the_collectors_list_is_of_the_chart_s_names() -> None:
    """The example for many replicas names pods as this chart does, for a release ``spanward``."""
    ran = helm("template", "spanward", str(CHART), "--set", "gateway.replicas=3")
    services = [each for each in yaml.safe_load_all(ran.stdout) if each["kind"] == "Service"]
    headless = services[0]["metadata"]["name"]
    collector = yaml.safe_load((DEPLOY / "otelcol" / "balance.yaml").read_text("utf-8"))
    hostnames = collector["exporters"]["load_balancing"]["resolver"]["static"]["hostnames"]
    ours = [f"spanward-{number}.{headless}.agents.svc:4317" for number in range(3)]
    assert hostnames == ours
    install = ("install", "spanward", str(CHART), "--namespace", "agents", "--dry-run=client")
    told = helm(*install, "--set", "gateway.replicas=3").stdout.partition("NOTES:")[2]
    assert [line for line in ours if f"- {line}\n" not in told] == []


@pytest.mark.parametrize("values", EXAMPLES)
def test_selectors_find_the_pods(values: Path) -> None:
    """Of services, policies, budgets and monitors; and the ports that they name are there."""
    objects = rendered("--values", str(values))
    workloads = [each for each in objects if "template" in each.get("spec", {})]
    for workload in workloads:
        labels = workload["spec"]["template"]["metadata"]["labels"]
        ports = {port["name"] for port in container(workload["spec"]["template"]["spec"])["ports"]}
        for each in objects:
            spec = each.get("spec", {})
            selector = spec.get("podSelector") or spec.get("selector") or {}
            wanted: Mapping[str, str] = selector.get("matchLabels", selector)
            assert wanted.items() <= labels.items(), each["kind"]
            named = [port.get("targetPort") for port in spec.get("ports", [])]
            named += [port["port"] for port in spec.get("podMetricsEndpoints", [])]
            assert set(named) <= ports, each["kind"]


# --- what needs CRDs


def test_what_needs_crds_is_off_unless_asked_for() -> None:
    """An install on a bare cluster works."""
    assert {each["apiVersion"] for each in rendered()} == {"v1", "apps/v1", "networking.k8s.io/v1"}
    asked = ("--set", "podMonitor.enabled=true,prometheusRule.enabled=true")
    assert {"PodMonitor", "PrometheusRule"} <= kinds(rendered(*asked))


def test_the_rule_is_the_alerts() -> None:
    """Word for word what ``deploy/prometheus/alerts.yml`` says, and where the runbook is."""
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))
    assert one(rendered("--set", "prometheusRule.enabled=true"), "PrometheusRule")["spec"] == alerts
    moved = ("--set", "prometheusRule.enabled=true,prometheusRule.runbook=https://w.example/s")
    groups = one(rendered(*moved), "PrometheusRule")["spec"]["groups"]
    books = [rule["annotations"]["runbook_url"] for each in groups for rule in each["rules"]]
    assert books
    assert all(re.fullmatch(r"https://w\.example/s#[\w-]+", book) for book in books)


# --- a sidecar


def test_a_sidecar_is_there_before_and_after_the_agent() -> None:
    """A native one; and the agent is told where to send, which it may overrule."""
    values = DEPLOY / "helm" / "values" / "sidecar.yaml"
    (pod,) = pods(rendered("--values", str(values)))
    assert [each["restartPolicy"] for each in pod["initContainers"]] == ["Always"]
    told = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert told["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:4317"
    assert list(told)[-1] == "MODEL", "of two variables of a name the last one holds"


def test_another_chart_takes_the_sidecar(tmp_path: Path) -> None:
    """As ``deploy/helm/values/README.md`` shows it."""
    page = (DEPLOY / "helm" / "values" / "README.md").read_text("utf-8")
    shown = page.split("```yaml\n")[1].split("```")[0]
    shutil.copytree(CHART, tmp_path / "charts" / "spanward")
    (tmp_path / "Chart.yaml").write_text(
        "{apiVersion: v2, name: agent, version: 1.0.0,"
        f" dependencies: [{{name: spanward, version: {spanward.__version__}}}]}}",
        encoding="utf-8",
    )
    (tmp_path / "values.yaml").write_text("spanward: {mode: sidecar}", encoding="utf-8")
    (tmp_path / "templates").mkdir()
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: agent}}\n{shown}"
    (tmp_path / "templates" / "pod.yaml").write_text(pod, encoding="utf-8")
    objects = rendered(chart=tmp_path)
    assert kinds(objects) == {"Pod", "ConfigMap"}
    spec = one(objects, "Pod", "agent")["spec"]
    assert container(spec)["image"] == f"spanward:{spanward.__version__}"
    names = {volume["name"] for volume in spec["volumes"]}
    assert {mount["name"] for mount in container(spec)["volumeMounts"]} <= names
    config_map = next(v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v)
    assert one(objects, "ConfigMap", config_map)


# --- values


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "mode=daemonset"], "mode"),
        (["--set", "gatway.replicas=3"], "gatway"),
        (["--set", "gateway.replicas=0"], "minimum"),
        (["--set", "image.digest=sha256:12"], "digest"),
        (["--set", "specs.notes=x"], "notes"),
        (["--set", "gateway.persistence.size=2GB"], "size"),
        (["--set", "verdicts.endpoint=collector:4317"], "endpoint"),
        (["--set", "gateway.persistence.accessModes[0]=ReadWriteMany"], "accessModes"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_mistaken_values_are_refused(options: list[str], words: str) -> None:
    """By ``values.schema.json``, with a word on what is wrong."""
    assert words in refusal(*options)


def test_every_place_in_the_schema_has_its_default() -> None:
    """The other way round helm sees to it, whenever it renders: the schema allows no other keys."""
    schema = msgspec.json.decode((CHART / "values.schema.json").read_bytes())
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))

    def schema_paths(node: Object, before: str = "") -> set[str]:
        found = set()
        for key, value in node["properties"].items():
            inner = schema_paths(value, f"{before}{key}.") if "properties" in value else set()
            found |= inner or {f"{before}{key}"}
        return found

    closed = schema_paths(schema) - {"global"}
    assert {path for path in closed if not _has(values, path)} == set()


def _has(node: Any, path: str) -> bool:
    for key in path.split("."):
        if not isinstance(node, dict) or key not in node:
            return False
        node = node[key]
    return True


def test_the_chart_is_of_this_version() -> None:
    """What it installs by default is what it was tested with."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["appVersion"] == chart["version"] == spanward.__version__


def test_the_alerts_are_linked_and_not_copied() -> None:
    """A copy would grow old."""
    link = CHART / "files" / "alerts.yml"
    assert link.is_symlink()
    assert os.path.samefile(link, DEPLOY / "prometheus" / "alerts.yml")  # noqa: PTH121
