"""Changes of dbt in a process of many runs: each of its parts is where the change expects it, and works as before."""

import inspect
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import jinja2.sandbox
import pytest
from dbt.adapters.base.impl import BaseAdapter
from dbt.adapters.cache import RelationsCache
from dbt.adapters.duckdb.relation import DuckDBRelation
from dbt.artifacts.resources.types import NodeType
from dbt.clients.jinja import MacroGenerator
from dbt.compilation import Linker
from dbt.context import base
from dbt.context.providers import ModelContext
from dbt.contracts.graph.manifest import Manifest
from dbt.graph.graph import Graph, UniqueId
from dbt.graph.queue import GraphQueue
from dbt.graph.selector import NodeSelector
from dbt.graph.selector_methods import QualifiedNameSelectorMethod
from dbt.plugins.manager import PluginManager
from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.clients import agate_helper
from dbt_common.clients.jinja import get_environment, get_template
from dbt_common.events.base_types import EventLevel
from dbt_common.events.event_manager import EventManager
from dbt_common.events.types import Formatting, Note

from orchestration.warehouse.dbt_runner.lean import Both, MadeWhenRead, compile_jinja, link_graph, make_dbt_lean
from tests.support.pipeline.dbt_project import evaluated, manifest


@pytest.fixture(autouse=True)
def lean() -> None:
    make_dbt_lean()


def test_a_debug_event_that_no_log_takes_is_not_made() -> None:
    """It is dropped before its message would be found to be impossible."""
    EventManager().fire_event(Note(no_such_field=1), level=EventLevel.DEBUG)
    with pytest.raises(Exception, match="no_such_field"):
        EventManager().fire_event(Note(no_such_field=1), level=EventLevel.INFO)


def test_an_event_that_is_read_has_its_fields_as_before() -> None:
    sent: list[Any] = []
    manager = EventManager()
    manager.add_callback(sent.append)
    event = Note(msg="first")
    assert event.msg == "first"
    event.msg = "second"
    manager.fire_event(event, level=EventLevel.WARN)
    manager.fire_event(Formatting("third"), level=EventLevel.ERROR)
    manager.fire_event(Note(msg="fourth"), level=EventLevel.DEBUG)
    assert [(one.info.level, one.data.msg) for one in sent] == [("warn", "second"), ("error", "third")]


def test_a_flag_does_not_search_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    def search() -> None:
        raise AssertionError("the stack was searched")

    monkeypatch.setattr(inspect, "stack", search)
    flag = BehaviorFlagRendered({"name": "one", "default": True, "description": "A flag."}, {})
    assert flag.setting
    assert flag._behavior_change_event.flag_source == "dbt"


def test_jinja_is_compiled_once() -> None:
    source = "{% set n = 1 %}{{ n + more }}"
    compile_jinja([source])
    assert get_environment().compile(source) is get_environment().compile(source)
    assert [get_template(source, {"more": more}).render({"more": more}) for more in (1, 2)] == ["2", "3"]


def test_a_project_is_linked_once_and_again_with_another_node() -> None:
    project = manifest()
    evaluated("1")  # a run sets dbt's flags, which linking reads
    link_graph(project)
    first, tested, again, third = Linker(), Linker(), Linker(), Linker()
    first.link_graph(project)
    edges = first.graph.number_of_edges()
    for one in (tested, again):
        one.link_graph(project)
        assert one.graph is first.graph
        one.add_test_edges(project)
    assert tested.graph is again.graph
    assert tested.graph.number_of_edges() > first.graph.number_of_edges() == edges
    added = project.expect("model.tidemark.series_market_1m")
    project.nodes["another"] = added  # type: ignore[assignment]
    third.link_graph(project)
    del project.nodes["another"]
    assert third.graph is not first.graph


def linked() -> Any:
    """The project's graph as a run of `dbt build` has it, linked before."""
    evaluated("1")  # a run sets dbt's flags, which linking reads
    link_graph(manifest())
    linker: Any = Linker()
    linker.link_graph(manifest())
    linker.add_test_edges(manifest())
    return linker.graph


def test_a_graph_s_members_are_found_once_and_are_those_of_dbt() -> None:
    graph = linked()
    first, again = (NodeSelector(Graph(graph), manifest()) for _ in range(2))
    assert first.graph.nodes() is again.graph.nodes()
    assert first.graph.nodes() == {one for one in graph if first._is_graph_member(one)}
    assert set(first.graph.graph.edges()) == set(graph.subgraph(first.graph.nodes()).edges())
    other = NodeSelector(Graph(graph.subgraph(["model.tidemark.gaps"])), manifest())
    assert other.graph.nodes() == {"model.tidemark.gaps"}


def test_a_run_of_models_has_the_graph_that_dbt_makes_of_all_nodes() -> None:
    graph = linked()
    models = sorted(one for one in graph if one.startswith("model."))
    tests = [one for one in graph if one.startswith("test.")]
    for selected in (models[::3], models[:1], [*models[::5], *tests[::7]]):
        made = Graph(graph).get_subset_graph([UniqueId(one) for one in selected]).graph
        plain = Graph(graph.copy()).get_subset_graph([UniqueId(one) for one in selected]).graph
        assert set(made.nodes()) == set(plain.nodes()) == set(selected)
        assert set(made.edges()) == set(plain.edges())
    with pytest.raises(ValueError, match="nobody"):
        Graph(graph).get_subset_graph([UniqueId("model.tidemark.nobody")])


@pytest.mark.parametrize(
    "text", ["series_market_1m", "stg_binance__open_interest", "tidemark", "staging", "binance", "nobody"]
)
def test_a_name_selects_the_nodes_that_dbt_finds_by_comparing_each(text: str) -> None:
    project = manifest()
    selector = QualifiedNameSelectorMethod(project, None, [])
    everything = {UniqueId(one) for one in (*project.nodes, *project.unit_tests, *project.exposures, *project.metrics)}
    models = {one for one in everything if one.startswith("model.")}
    for nodes in (everything, models, everything):
        matches = {
            unique_id
            for unique_id, node in selector.non_source_nodes(nodes)
            if selector.node_is_match(text, node.fqn, node.is_versioned)
        }
        assert set(selector.search(nodes, text)) == matches
    assert bool(set(selector.search(everything, text))) == (text not in {"binance", "nobody"})


def test_a_model_with_versions_is_selected_by_each_of_its_names() -> None:
    versioned = SimpleNamespace(fqn=["package", "folder", "orders", "v2"], is_versioned=True)
    project = SimpleNamespace(nodes={"one": versioned}, unit_tests={}, exposures={}, metrics={}, semantic_models={},
                              saved_queries={}, functions={})  # fmt: skip
    selector: Any = QualifiedNameSelectorMethod(project, None, [])  # type: ignore[arg-type]
    for text in ("orders", "orders_v2", "package", "folder"):
        assert set(selector.search({"one"}, text)) == {"one"}, text
    assert not set(selector.search({"one"}, "v2"))


def relation(identifier: str) -> Any:
    return DuckDBRelation.create(database="d", schema="s", identifier=identifier)


def test_a_relation_is_found_without_a_look_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    matches = DuckDBRelation.matches

    def note(self: Any, **search: Any) -> bool:
        compared.append(self.identifier)
        return matches(self, **search)

    monkeypatch.setattr(DuckDBRelation, "matches", note)
    adapter: Any = BaseAdapter
    asked = SimpleNamespace(
        config=SimpleNamespace(quoting={"database": True, "schema": True, "identifier": True}),
        cache=RelationsCache(),
        list_relations=lambda *_: [relation("uncached")],
    )
    for method in ("_make_match_kwargs", "_make_match", "_schema_is_cached", "get_relation"):
        setattr(asked, method, partial(getattr(adapter, method), asked))
    asked.nice_connection_name = lambda: "here"
    assert asked.get_relation("d", "s", "uncached") == relation("uncached")
    compared.clear()
    asked.cache.update_schemas([("d", "s")])
    for name in ("one", "two", "three"):
        asked.cache.add(relation(name))
    assert asked.get_relation("d", "s", "two") == relation("two")
    assert asked.get_relation("d", "s", "four") is None
    asked.cache.drop(relation("two"))
    assert asked.get_relation("d", "s", "two") is None
    assert compared == ["two"]
    assert asked.get_relation("other", "s", "two") is None


def test_schemas_are_made_once_for_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(quoting: Any, relation_config: Any) -> Any:
        made.append(relation_config.schema)
        return DuckDBRelation.create(database=relation_config.database, schema=relation_config.schema)

    nodes = [SimpleNamespace(database="d", schema=schema) for schema in ("a", "b", "a", "a")]
    asked = SimpleNamespace(Relation=SimpleNamespace(create_from=make), config=None)
    adapter: Any = BaseAdapter
    found = adapter._get_cache_schemas(asked, nodes)
    assert sorted((one.database, one.schema) for one in found) == [("d", "a"), ("d", "b")]
    assert sorted(made) == ["a", "b"]


def test_a_query_s_result_has_its_types_by_a_tester_that_is_kept() -> None:
    helper: Any = agate_helper
    assert helper.build_type_tester(["n"]) is helper.build_type_tester(("n",))
    assert helper.build_type_tester(["n"]) is not helper.build_type_tester(["n"], string_null_values=())
    for _ in range(2):
        table = agate_helper.table_from_data_flat([{"n": 1, "text": "", "none": None}], ["n", "text", "none"])
        assert [tuple(row) for row in table.rows] == [(1, "", None)]


def test_a_value_is_made_when_it_is_read_and_once() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    found = MadeWhenRead({"a": 1, "b": 2, "c": 3}, make)
    found["d"] = "set"
    assert ([*found], len(found)) == (["a", "b", "c", "d"], 4)
    assert "a" in found
    assert "e" not in found
    assert made == []
    assert (found["a"], found["a"], found.get("b"), found["d"], found.get("e", "none")) == (
        "A",
        "A",
        "B",
        "set",
        "none",
    )
    assert made == ["a", "b"]
    with pytest.raises(KeyError):
        found["e"]


def test_a_context_makes_the_macros_that_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Macros of the project, of dbt by its name, of the adapter by dispatch; and none of the others."""
    evaluated("1 + 1")
    made: list[str] = []
    init = MacroGenerator.__init__

    def note(self: Any, macro: Any, *values: Any) -> None:
        made.append(macro.name)
        init(self, macro, *values)

    monkeypatch.setattr(MacroGenerator, "__init__", note)
    assert evaluated("[period_ms(1) != '', dbt.type_timestamp(), adapter.dispatch('type_bigint', 'dbt')()]") == [
        True, "timestamp", "bigint",
    ]  # fmt: skip
    assert {"period_ms", "type_timestamp", "default__type_bigint"} <= {*made}
    assert len(made) < 100
    assert len(manifest().macros) > 600


def test_a_context_makes_the_values_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(_: Any) -> dict[str, Any]:
        raise AssertionError("invocation_args_dict was made")

    evaluated("1 + 1")
    monkeypatch.setitem(ModelContext._context_members_, "invocation_args_dict", property(make))
    monkeypatch.setitem(ModelContext._context_members_, "named_twice", "dbt's")
    assert evaluated("[target.type, builtins.named_twice, named_twice, 'invocation_args_dict' in context]") == [
        "duckdb", "dbt's", "dbt's", True,
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="Error parsing"):
        evaluated("invocation_args_dict | length")


def test_without_a_selection_all_nodes_are_selected() -> None:
    project = manifest()
    selector = QualifiedNameSelectorMethod(project, None, [])
    everything = {UniqueId(one) for one in (*project.nodes, *project.sources, *project.exposures)}
    found = set(selector.search(everything, "*"))
    assert found == {
        unique_id
        for unique_id, node in selector.non_source_nodes(everything)
        if selector.node_is_match("*", node.fqn, node.is_versioned)
    }
    assert len(found) > 300


def test_a_template_finds_a_name_in_its_context_or_its_own() -> None:
    both = Both({"of_context": 1}, {"of_template": 2})
    assert ["of_context" in both, "of_template" in both, "neither" in both] == [True, True, False]
    template = get_template("{{ named }}{% if neither is defined %}!{% endif %}", {}, None)
    assert template.render({"named": "so"}) == "so"
    assert type(template.new_context({}).parent) in (Both, dict)


def test_what_is_the_same_in_each_run_is_made_once() -> None:
    of_jinja: Any = base
    helper: Any = agate_helper
    plugins: Any = PluginManager
    assert of_jinja.get_context_modules() is of_jinja.get_context_modules()
    assert {"datetime", "re"} <= of_jinja.get_context_modules().keys()
    assert helper.empty_table() is helper.empty_table()
    assert len(helper.empty_table().rows) == 0
    assert plugins.get_prefixed_modules() is plugins.get_prefixed_modules()


def test_an_attribute_of_a_type_is_judged_once_and_as_before() -> None:
    """Jinja's sandbox asks it at each access of each template."""
    judge: Any = jinja2.sandbox.is_internal_attribute
    for _ in range(2):
        assert judge(lambda: 1, "__globals__")
        assert judge(dict, "mro")
        assert not judge({}, "items")
        assert not judge("text", "mro")


def test_of_the_nodes_that_can_be_built_that_of_the_longest_chain_is_first() -> None:
    linker: Any = Linker()
    for parent, child in [("first", "a"), ("first", "b"), ("first", "c"), ("c", "d"), ("d", "e"), ("a", "f")]:
        linker.dependency(child, parent)
    graph = linker.graph
    nodes = SimpleNamespace(
        expect=lambda unique_id: SimpleNamespace(unique_id=unique_id, resource_type=NodeType.Model, is_ephemeral=False)
    )
    queue = GraphQueue(graph, cast(Manifest, nodes), set(graph))
    built = []
    while not queue.empty():
        built.append(queue.get(block=False).unique_id)
        queue.mark_done(UniqueId(built[-1]))
    assert built == ["first", "c", "a", "d", "b", "e", "f"]
