#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each manifest of examples/kubernetes has only fields that an MPIJob (kubeflow.org/v2beta1) and its pods know, of their types and
values, and agrees with itself: volumes that are mounted exist, GPUs are the slots, ranks are those of the config that it names, and
the command is one that tessera accepts. Each of BROKEN must be refused. What the fields are is in the operator's custom resource definition
and in its validation (pkg/apis/kubeflow/validation)."""
import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
QUANTITY = r"\d+(\.\d+)?([KMGTPE]i|[numkMGTPE])?"
LABEL = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
ANY = r"(?s).*"


def need(**fields):
    """A table all of whose fields are wanted; those whose name ends in _ may be absent."""
    return {name.rstrip("_"): (rule, not name.endswith("_")) for name, rule in fields.items()}


WHOLE = range(0, 2**31)
MOUNT = need(name=LABEL, mountPath=r"/\S+", readOnly_=bool, subPath_=ANY)
VOLUME = need(name=LABEL, persistentVolumeClaim_=need(claimName=LABEL, readOnly_=bool), configMap_=need(name=LABEL),
              emptyDir_=need(medium_="Memory|", sizeLimit_=QUANTITY))
CONTAINER = need(name=LABEL, image=r"\S+", command_=[ANY], args_=[ANY], workingDir_=r"/\S*", env_=[need(name=r"\w+", value_=ANY)],
                 imagePullPolicy_="Always|Never|IfNotPresent", resources_=need(limits_={ANY: QUANTITY}, requests_={ANY: QUANTITY}), volumeMounts_=[MOUNT])
POD = need(metadata_=need(labels_={ANY: ANY}, annotations_={ANY: ANY}),
           spec=need(containers=[CONTAINER], volumes_=[VOLUME], terminationGracePeriodSeconds_=WHOLE, nodeSelector_={ANY: ANY}))
REPLICA = need(replicas=range(1, 2**31), restartPolicy="Never|OnFailure", template=POD)
MPI_JOB = need(
    apiVersion=r"kubeflow\.org/v2beta1", kind="MPIJob", metadata=need(name=LABEL, namespace_=LABEL, labels_={ANY: ANY}),
    spec=need(slotsPerWorker=WHOLE, mpiImplementation_="OpenMPI|Intel|MPICH", sshAuthMountPath_=r"/\S+", runLauncherAsWorker_=bool,
              launcherCreationPolicy_="AtStartup|WaitForWorkersReady",
              runPolicy=need(cleanPodPolicy="None|Running|All", backoffLimit_=WHOLE, activeDeadlineSeconds_=WHOLE, ttlSecondsAfterFinished_=WHOLE,
                             suspend_=bool),
              mpiReplicaSpecs=need(Launcher=REPLICA, Worker=REPLICA)))


def wrong(value, rule, place="job"):
    """What breaks the rule: a table, a list of one rule, numbers, a type, or an expression that text matches."""
    if isinstance(rule, dict):
        if not isinstance(value, dict):
            yield f"{place} is no table"
            return
        if ANY in rule:
            for name, inner in value.items():
                yield from wrong(str(inner) if type(inner) in (int, float) else inner, rule[ANY], f"{place}.{name}")
            return
        for name in value.keys() - rule.keys():
            yield f"{place}.{name} is not known"
        for name, (inner, wanted) in rule.items():
            if name in value:
                yield from wrong(value[name], inner, f"{place}.{name}")
            elif wanted:
                yield f"{place}.{name} is missing"
    elif isinstance(rule, list):
        if not isinstance(value, list) or not value:
            yield f"{place} is no list, or an empty one"
            return
        for i, each in enumerate(value):
            yield from wrong(each, rule[0], f"{place}[{i}]")
    elif rule is bool or isinstance(rule, range):
        good = isinstance(value, bool) if rule is bool else type(value) is int and value in rule
        if not good:
            yield f"{place} is {value!r}"
    elif not isinstance(value, str) or not re.fullmatch(rule, value):
        yield f"{place} is {value!r}"


def disagreements(job):
    """Of a job whose fields are right."""
    spec = job["spec"]
    for name, replica in spec["mpiReplicaSpecs"].items():
        pod = replica["template"]["spec"]
        volumes = [each["name"] for each in pod.get("volumes", [])]
        if len(set(volumes)) < len(volumes):
            yield f"{name}: a volume is named twice"
        for container in pod["containers"]:
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    yield f"{name}: {mount['name']} is mounted, but no volume"
        for volume in pod.get("volumes", []):
            if len(volume) != 2:
                yield f"{name}: volume {volume['name']} is not of one kind"
    launcher, worker = spec["mpiReplicaSpecs"]["Launcher"], spec["mpiReplicaSpecs"]["Worker"]
    if launcher["replicas"] != 1:
        yield "there must be one launcher"
    gpus = sum(int(each.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0)) for each in worker["template"]["spec"]["containers"])
    if gpus != spec["slotsPerWorker"]:
        yield f"a worker has {gpus} GPUs and {spec['slotsPerWorker']} slots"
    if not re.fullmatch(LABEL, f"{job['metadata']['name']}-worker-{worker['replicas'] - 1}"):
        yield "the job's name is too long for those of its pods"


def command_line(job, text, binary):
    """The command trains the config that the head of the file names, whose ranks are the slots of all workers."""
    spec = job["spec"]
    file = re.search(r"--from-file=config.toml=(\S+)", text).group(1)
    ranks = int(re.search(r"^# For: .* on (\d+) ranks? of ", (ROOT / file).read_text(encoding="utf-8"), re.M).group(1))
    slots = spec["slotsPerWorker"] * spec["mpiReplicaSpecs"]["Worker"]["replicas"]
    if ranks != slots:
        yield f"{file} has {ranks} ranks, and the workers {slots} slots"
    line = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"][0]
    if subprocess.run(["sh", "-n", "-c", line], capture_output=True, check=False).returncode != 0:
        yield "sh does not accept the launcher's command"
    # With files that are here, and a launcher that starts nothing.
    with tempfile.TemporaryDirectory() as folder:
        here = line.replace("/work/", f"{folder}/").replace("/config/config.toml", str(ROOT / file)).replace("--with mpirun", "--with true")
        environment = {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}"}
        lost = Path(folder) / "out" / job["metadata"]["name"]
        for before in ("", "of a run that was lost before its first checkpoint"):
            if before:
                (lost / "metrics.jsonl").write_text(before, encoding="utf-8")
            done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=False, env=environment, cwd=folder)
            if "tessera launch" not in line or done.returncode != 0:
                yield f"tessera does not accept the launcher's command, in a folder {before}: {done.stderr}"
                return
        if len(list(lost.parent.glob(f"{lost.name}.*/metrics.jsonl"))) != 1:
            yield "the folder of a run that was lost is not put aside"


def change(job, path, value):
    changed = copy.deepcopy(job)
    at = changed
    for name in path[:-1]:
        at = at[name]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return changed


SPECS = ("spec", "mpiReplicaSpecs")
WORKER = (*SPECS, "Worker", "template", "spec")
BROKEN = [
    (("apiVersion",), "kubeflow.org/v1"), (("metadata", "name"), "Llama_8B"), (("metadata", "name"), "l" * 60), (("spec", "slotsPerWorker"), "8"),
    (("spec", "slotsPerWorker"), 4), (("spec", "runPolicy", "cleanPodPolicy"), "Some"), (("spec", "runPolicy", "backOffLimit"), 3),
    (("spec", "launcherCreationPolicy"), "Later"), ((*SPECS, "Launcher"), None), ((*SPECS, "Launcher", "replicas"), 2),
    ((*SPECS, "Worker", "replicas"), 0), ((*SPECS, "Worker", "restartPolicy"), "Always"), ((*WORKER, "containers"), []),
    ((*WORKER, "containers", 0, "name"), None), ((*WORKER, "containers", 0, "volumeMounts", 0, "name"), "elsewhere"),
    ((*WORKER, "containers", 0, "args"), "-De"), ((*WORKER, "containers", 0, "resources", "limits", "memory"), "512 GB"),
    ((*WORKER, "volumes", 0, "persistentVolumeClaim"), {"claim": "work"}), ((*WORKER, "volumes", 0, "persistentVolumeClaim"), None),
    ((*WORKER, "volumes", 1, "name"), "work"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    binary = parser.parse_args().binary.resolve()
    try:
        import yaml
    except ImportError:
        print("skipped: PyYAML is not installed (tools/setup.sh test has python3-yaml)")
        return
    failures, files = [], sorted((ROOT / "examples/kubernetes").glob("*.yaml"))
    assert files, "no manifests"
    for file in files:
        text = file.read_text(encoding="utf-8")
        job = yaml.safe_load(text)
        problems = list(wrong(job, MPI_JOB)) or [*disagreements(job), *command_line(job, text, binary)]
        failures += [f"{file.name}: {problem}" for problem in problems]
        if "NEVER TRIED" not in text:
            failures.append(f"{file.name} does not say that it was never tried on a cluster")
        for path, value in BROKEN:
            changed = change(job, path, value)
            if not list(wrong(changed, MPI_JOB)) and not list(disagreements(changed)):
                failures.append(f"{file.name} is accepted with {'.'.join(map(str, path))} = {value!r}")
    print("\n".join(failures) or f"{len(files)} manifests, {len(BROKEN)} broken ones refused")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
