"""Templates of a user's own for the Markdown report: what they may override, and how they fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts, Run
from tests.github import MARKER, rendered

BLOCKS = (
    "title",
    "verdict",
    "figures",
    "classes",
    "warnings",
    "flips",
    "flip",
    "masked",
    "missing",
    "groups",
    "joined",
    "links",
    "footer",
)
EXTENDING = '{% extends "report.md.j2" %}\n'


class Templates:
    """Runs comparisons with a template of one's own."""

    def __init__(self, rollouts: Rollouts, run: Compare) -> None:
        self.folder = rollouts.folder
        self._rollouts = rollouts
        self._run = run
        self.options: tuple[object, ...] = ()

    def run(self, template: str | bytes | Path, task: str = "flip", error: str = "broken", **losing: Any) -> Run:
        path = template if isinstance(template, Path) else self.folder / "own.md.j2"
        if isinstance(template, str):
            path.write_text(template, encoding="utf-8")
        elif isinstance(template, bytes):
            path.write_bytes(template)
        tasks = ("flip", "masked", "missing", "same")

        def row(name: str, reward: float | None, **more: Any) -> Json:
            own = {"taskset": "a" if name == "same" else "b", "task_id": task if name == "flip" else name}
            return {"_ng_task_id": own, "reward": reward} | more

        old = self._rollouts.write("old.jsonl", [row(name, 1) for name in tasks])
        new = self._rollouts.write(
            "new.jsonl",
            [row("flip", 0, error=error, **{"test_output": "one\ntwo"} | losing), row("masked", None), row("same", 1)],
        )
        return self._run(old, new, "--template", path, "--markdown", self.folder / "report.md", *self.options)

    def render(self, template: str, **said: Any) -> str:
        done = self.run(template, **said)
        assert done.status == 0, done.err
        return (self.folder / "report.md").read_text(encoding="utf-8")

    def fail(self, template: str | bytes | Path) -> str:
        """The one line that says what is wrong; nothing is written."""
        done = self.run(template)
        assert done.status == 2
        assert done.out == ""
        assert not [each.name for each in self.folder.iterdir() if "report" in each.name or each.name.endswith("part")]
        *usage, line = done.err.rstrip("\n").split("\n")
        assert "Traceback" not in done.err
        assert not usage or usage[0].startswith("usage: ")
        assert not any("own.md.j2" in each for each in usage)
        assert line.startswith("rollout-compare: error: ")
        return line


@pytest.fixture
def templates(rollouts: Rollouts, run: Compare) -> Templates:
    return Templates(rollouts, run)


def test_a_template_that_only_extends_changes_nothing(templates: Templates, rollouts: Rollouts, run: Compare) -> None:
    own = templates.render(EXTENDING)
    done = run(rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl", "--format", "markdown")
    assert done.out == own


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_can_be_overridden(block: str, templates: Templates) -> None:
    plain = templates.render(EXTENDING)
    changed = templates.render(EXTENDING + f"{{% block {block} %}}\n\nWORDS OF ITS OWN\n\n{{% endblock %}}")
    assert "WORDS OF ITS OWN" in rendered(changed).running_text
    assert changed.partition("\n")[0] == MARKER
    assert changed != plain
    kept = templates.render(EXTENDING + f"{{% block {block} %}}{{{{ super() }}}}{{% endblock %}}")
    assert kept == plain


def test_a_template_need_not_extend(templates: Templates) -> None:
    said = templates.render("{{ marker }}\n# {{ verdict.head }}\n\n{{ title }}\n")
    assert said.startswith(f"{MARKER}\n# Too little to conclude\n")


def test_the_template_is_for_printed_markdown_too(templates: Templates, run: Compare, rollouts: Rollouts) -> None:
    template = rollouts.folder / "own.md.j2"
    templates.render(EXTENDING + "{% block footer %}own footer{% endblock %}")
    done = run(rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl", "--template", template,
               "--format", "markdown")  # fmt: skip
    assert done.out.endswith("own footer\n")


BROKEN = {
    "no marker": "no marker at all",
    "empty": "",
    "marker twice": "{{ marker }}\n{{ marker }}\n",
    "marker not first": "title\n{{ marker }}\n",
    "marker not alone": "{{ marker }} and more\n",
    "no end of a block": EXTENDING + "{% block title %}",
    "no end of a tag": EXTENDING + "{% block title",
    "no end of an expression": EXTENDING + "{% block title %}{{ title {% endblock %}",
    "unknown tag": EXTENDING + "{% nonsense %}",
    "unknown variable": EXTENDING + "{% block title %}{{ nonsense }}{% endblock %}",
    "unknown attribute": EXTENDING + "{% block flip %}{{ flip.nonsense }}{% endblock %}",
    "unknown filter": EXTENDING + "{% block title %}{{ title | nonsense }}{% endblock %}",
    "unknown test": EXTENDING + "{% block title %}{{ title is nonsense }}{% endblock %}",
    "division by zero": EXTENDING + "{% block title %}{{ 1 / 0 }}{% endblock %}",
    "wrong type": EXTENDING + "{% block title %}{{ 1 + title.x.y }}{% endblock %}",
    "extends itself": '{% extends "own template" %}',
    "extends nothing": '{% extends "none.md.j2" %}',
    "includes a file": EXTENDING + '{% block title %}{% include "/etc/hostname" %}{% endblock %}',
    "includes a file above": EXTENDING + '{% block title %}{% include "../template.py" %}{% endblock %}',
    "calls no function": EXTENDING + "{% block title %}{{ title() }}{% endblock %}",
    "endless": EXTENDING + "{% block title %}{{ range(999999999) | list }}{% endblock %}",
    "endless call": EXTENDING + "{% macro f() %}{{ f() }}{% endmacro %}{% block title %}{{ f() }}{% endblock %}",
    "class": EXTENDING + "{% block title %}{{ title.__class__ }}{% endblock %}",
    "class of a text": EXTENDING + "{% block title %}{{ ''.__class__.__mro__ }}{% endblock %}",
    "globals of a function": EXTENDING + "{% block title %}{{ range.__globals__ }}{% endblock %}",
    "globals of a macro": EXTENDING + "{% macro f() %}{% endmacro %}{% block title %}{{ f.__init__ }}{% endblock %}",
    "class by a filter": EXTENDING + "{% block title %}{{ (title | attr('__class__')).x }}{% endblock %}",
    "class by a format": EXTENDING + "{% block title %}{{ '{0.__class__}'.format(1) }}{% endblock %}",
    "context": EXTENDING + "{% block title %}{{ self.__class__ }}{{ cycler.__init__.__globals__ }}{% endblock %}",
}
WITH_LINES = ("no end of an expression", "unknown tag", "unknown variable", "unknown filter", "division by zero")


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_template_is_one_line_that_names_it_and_no_file(kind: str, templates: Templates) -> None:
    line = templates.fail(BROKEN[kind])
    assert "own.md.j2" in line
    assert len(line) < 600


@pytest.mark.parametrize("kind", WITH_LINES)
def test_the_line_of_a_fault_is_named(kind: str, templates: Templates) -> None:
    extends, rest = BROKEN[kind].split("\n", 1)
    assert "own.md.j2:5:" in templates.fail(f"{extends}\n\n\n\n{rest}")


def test_a_broken_template_leaves_none_of_the_other_reports_behind(templates: Templates) -> None:
    templates.options = ("--json", templates.folder / "report.json")
    assert "own.md.j2" in templates.fail(EXTENDING + "{% block title %}{{ 1 / 0 }}{% endblock %}")


def test_a_template_that_is_no_text_or_no_file_is_one_line(templates: Templates) -> None:
    assert "UTF-8" in templates.fail(b"\xff\xfe{\x00{\x00")
    assert "own.md.j2" in templates.fail(b"{{ marker }}\n\xff\n")
    assert "none.md.j2" in templates.fail(templates.folder / "none.md.j2")
    folder = templates.folder / "folder"
    folder.mkdir()
    assert "folder" in templates.fail(folder)


def test_a_broken_template_is_wrong_usage_even_when_no_markdown_is_asked_for(
    templates: Templates, rollouts: Rollouts, run: Compare
) -> None:
    template = rollouts.folder / "own.md.j2"
    template.write_text("{% nonsense %}")
    good = rollouts.write("good.jsonl", [{"task_id": "t", "reward": 1}])
    done = run(good, good, "--template", template)
    assert (done.status, done.out) == (2, "")
    assert "own.md.j2:1:" in done.err


def test_an_earlier_report_stays_when_the_template_fails(templates: Templates) -> None:
    before = templates.render(EXTENDING)
    assert templates.run(EXTENDING + "{% block title %}{{ 1 / 0 }}{% endblock %}").status == 2
    assert (templates.folder / "report.md").read_text(encoding="utf-8") == before


CODE = ("{{ 7 * 7 }}", "{% raw %}", "{# comment #}", "{% block title %}", "{{ marker }}", "{%- endblock -%}", "${7*7}")


@pytest.mark.parametrize(
    "own", [None, EXTENDING + "{% block title %}{{ super() }}{% endblock %}"], ids=["built-in", "own"]
)
@pytest.mark.parametrize("code", CODE)
def test_code_of_templates_in_data_is_printed_literally(
    own: str | None, code: str, templates: Templates, run: Compare, rollouts: Rollouts
) -> None:
    markdown = templates.render(own or EXTENDING, task=f"task {code}", error=f"error {code}")
    if own is None:
        markdown = run(rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl", "--format", "markdown").out
    text = rendered(markdown).text
    assert f"task {code}" in text
    assert f"error: error {code}" in text


HOSTILE = (
    "<script>alert(1)</script>",
    "@octocat #1",
    "a|b",
    "` `` ```",
    "**bold** _x_",
    "[a](javascript:x)",
    "<!-- x -->",
)


@pytest.mark.parametrize(
    "expression",
    [
        "flip.task",
        "flip['task']",
        "flip.errors[0].data",
        "flip.task | upper",
        "flip.task ~ ' and more'",
        "'see ' + flip.task",
        "flip.task[:60]",
        "flip.task.split('|')",
        "[flip.task] | join(', ')",
        "'%s' | format(flip.task)",
        "flip.lines",
    ],
)
def test_data_that_a_template_prints_as_it_is_is_harmless(expression: str, templates: Templates) -> None:
    own = EXTENDING + f"{{% block flip %}}\n- see {{{{ {expression} }}}} here\n{{% endblock %}}"
    plain, printed = (
        templates.render(own, task=f"x {words} y", error=words, test_output=words)
        for words in ("plain " * 9 + "| words", " ".join(HOSTILE))
    )
    assert rendered(printed).shape == rendered(plain).shape
    assert rendered(printed).running_text == rendered(plain).running_text


def test_a_marker_in_data_that_a_template_prints_is_not_taken_for_ours(templates: Templates) -> None:
    own = EXTENDING + "{% block flip %}{{ flip.task }} {{ flip.errors[0].data }}{% endblock %}"
    printed = templates.render(own, task=f"x {MARKER} y", error=MARKER)
    assert printed.count(MARKER) == 1


def test_the_lines_of_a_log_printed_one_by_one_are_harmless(templates: Templates) -> None:
    own = EXTENDING + "{% block flip %}{% for line in flip.lines %}{{ line }}\n\n{% endfor %}{% endblock %}"
    hostile = [*HOSTILE, "```", "# heading", "</details>", "- item"]
    plain, printed = (
        templates.render(own, test_output="\n".join(lines)) for lines in (["plain"] * len(hostile), hostile)
    )
    assert rendered(printed).shape == rendered(plain).shape
    assert rendered(printed).running_text == rendered(plain).running_text
