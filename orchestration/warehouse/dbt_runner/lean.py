"""dbt's runs in one process (or in forks of one) without work that is done again in each, or that nobody reads, and
with the longest chain of models first.

dbt offers no setting for any of these parts. Twelve windows of 48 marts took 25 and 27 s of CPU with the first three,
37 and 44 s with dbt as it is (which opened the database for each run then). With the graph, the relations and the
schemas, a run of 12 models takes 0.62 s of CPU instead of 0.74. With macros made when they are called, a window of 126
nodes takes 2.7 s instead of 4.0. With nodes and relations found by their names, one of 47 models takes 1.8 s instead of
2.3.
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import CodeType
from typing import Any


@cache
def make_dbt_lean() -> None:
    """Change dbt in this process, once.

    - Debug events that no log takes: each is made a protobuf message, then formatted with its time and thread.
    - The name of the module that made an adapter's flags, to be named in an event: a search of the stack for each flag.
    - Jinja that was compiled before: each run compiles the SQL of each model that it selects.
    - The graph of a project that was linked before, and a summary of it in a file that nobody reads.
    - Nodes with other names, in a selection by name: each name was compared with those of all nodes.
    - The members of a project's graph: each of 50 names was searched three times among those of a view, whose filter
      is asked for each. A run of models is made from the graph of all models, not of 1,500 nodes with their tests.
    - Relations with other names, in the search for one: each was compared part by part.
    - The schemas of a project's nodes, node by node, and parsers of dates for each query's result.
    - The 650 macros of a node's two or three contexts, and the 60 other values: twenty of each are read.
    - What is the same in every context and run: modules for Jinja, installed plugins, an empty result, whether an
      attribute of a type is internal.

    And of the nodes that can be built, the one with the longest chain of nodes after it is first, instead of that of
    the lowest level with the first name: the other thread waited for the longest chain alone at the end of each level.
    """
    _leave_out_events()
    _leave_out_callers()
    _keep_compiled_jinja()
    _keep_graph()
    _keep_members()
    _select_by_name()
    _find_relations_by_name()
    _keep_schemas_and_type_testers()
    _make_contexts_when_read()
    _keep_what_is_the_same()
    _begin_with_longest_chain()


def _leave_out_events() -> None:
    from dbt_common.events.base_types import BaseEvent, EventLevel
    from dbt_common.events.event_manager import EventManager

    event: Any = BaseEvent
    manager: Any = EventManager
    make_message, read_field, set_field = event.__init__, event.__getattr__, event.__setattr__
    send = manager.fire_event

    def keep_fields(self: Any, *values: Any, **named: Any) -> None:
        vars(self)["given"] = values, named

    def made(self: Any) -> None:
        if given := vars(self).pop("given", None):
            make_message(self, *given[0], **given[1])

    def make_message_and_read(self: Any, name: str) -> Any:
        made(self)
        return vars(self)["pb_msg"] if name == "pb_msg" else read_field(self, name)

    def make_message_and_set(self: Any, name: str, value: Any) -> None:
        made(self)
        set_field(self, name, value)

    def send_if_read(self: Any, e: Any, level: Any = None, *other: Any, **named: Any) -> None:
        if self.loggers or (level or e.level_tag()) is not EventLevel.DEBUG:
            send(self, e, level, *other, **named)

    event.__init__, event.__getattr__, event.__setattr__ = keep_fields, make_message_and_read, make_message_and_set
    manager.fire_event = send_if_read


def _leave_out_callers() -> None:
    from dbt_common.behavior_flags import BehaviorFlagRendered

    flag: Any = BehaviorFlagRendered
    flag._default_source = staticmethod(lambda: "dbt")


def _keep_compiled_jinja() -> None:
    from dbt_common.clients.jinja import MacroFuzzEnvironment

    environment: Any = MacroFuzzEnvironment
    compile_source = environment.compile
    compiled: dict[tuple[type, str], CodeType] = {}

    def compile_once(self: Any, source: Any, *how: Any, **named: Any) -> Any:
        if how or named or not isinstance(source, str):
            return compile_source(self, source, *how, **named)
        if (key := (type(self), source)) not in compiled:
            compiled[key] = compile_source(self, source)
        return compiled[key]

    environment.compile = compile_once


def compile_jinja(sources: Any) -> None:
    """Compile the SQL of these models, for the runs of forks of this process."""
    from dbt_common.clients.jinja import get_environment

    for source in sources:
        get_environment().compile(source)


def _keep_graph() -> None:
    from dbt.compilation import Linker

    linker: Any = Linker
    link, add_test_edges = linker.link_graph, linker.add_test_edges

    def link_once(self: Any, manifest: Any) -> None:
        nodes = [*manifest.nodes]  # a query that is given in the command line is one more
        kept = vars(manifest).get("linked")
        if kept is None or kept[0] != nodes:
            link(self, manifest)
            kept = vars(manifest)["linked"] = nodes, self.graph
        self.graph = kept[1]

    def add_edges_once(self: Any, manifest: Any) -> None:
        kept = vars(manifest).get("linked_to_tests")
        if kept is None or kept[0] is not self.graph:
            linked, self.graph = self.graph, self.graph.copy()
            add_test_edges(self, manifest)
            kept = vars(manifest)["linked_to_tests"] = linked, self.graph
        self.graph = kept[1]

    linker.link_graph, linker.add_test_edges = link_once, add_edges_once
    linker.get_graph_summary = lambda self, manifest: {}


def link_graph(manifest: Any) -> None:
    """Link the project's graph, for the runs of forks of this process: also as `dbt build` has it, where models wait
    for the tests of others, which takes 0.15 s. Then find its members, and what is left of it for a run of models."""
    from dbt.compilation import Linker
    from dbt.graph.graph import Graph
    from dbt.graph.selector import NodeSelector

    linker: Any = Linker()
    linker.link_graph(manifest)
    linker.add_test_edges(manifest)
    graph: Any = Graph(linker.graph)
    members = NodeSelector(graph, manifest).graph.nodes()
    models = {name for name in members if name in manifest.nodes and manifest.nodes[name].resource_type == "model"}
    vars(linker.graph)["of_models"] = graph.get_subset_graph(models)


def _keep_members() -> None:
    from dbt.graph.graph import Graph
    from dbt.graph.selector import NodeSelector
    from dbt.graph.selector_methods import MethodManager

    selector: Any = NodeSelector
    of_graph: Any = Graph
    find, subset = selector.__init__, of_graph.get_subset_graph

    class Members(of_graph):  # type: ignore[misc]
        """A graph that nobody changes, with its nodes as a set."""

        def __init__(self, graph: Any) -> None:
            super().__init__(graph)
            self._nodes = set(graph)

        def nodes(self) -> Any:
            return self._nodes

    def find_once(
        self: Any, graph: Any, manifest: Any, previous_state: Any = None, include_empty_nodes: bool = False
    ) -> None:
        kept = vars(manifest).get("members")
        if kept is None or kept[0] is not graph.graph:
            find(self, graph, manifest, previous_state, include_empty_nodes)
            kept = vars(manifest)["members"] = graph.graph, Members(self.graph.graph.copy())
        MethodManager.__init__(self, manifest, previous_state)
        self.full_graph, self.include_empty_nodes, self.graph = graph, include_empty_nodes, kept[1]

    def subset_of_models(self: Any, selected: Any) -> Any:
        chosen, models = set(selected), vars(self.graph).get("of_models")
        return subset(models if models is not None and chosen <= models.nodes() else self, chosen)

    selector.__init__, of_graph.get_subset_graph = find_once, subset_of_models


def _select_by_name() -> None:
    from dbt.graph.selector_methods import QualifiedNameSelectorMethod

    selector: Any = QualifiedNameSelectorMethod
    search = selector.search

    def names(node: Any) -> set[str]:
        """By which one word selects the node: its own name, and those of its package and of the folder in that."""
        own = {"_".join(node.fqn[-2:]), node.fqn[-2]} if node.is_versioned else {node.fqn[-1]}
        return own | {part.partition(".")[0] for part in node.fqn[:2]}

    def search_by_name(self: Any, included_nodes: Any, text: str) -> Any:
        if text == "*":  # without a selection
            return [unique_id for unique_id, _ in self.non_source_nodes(included_nodes)]
        if not text.isidentifier():
            return search(self, included_nodes, text)
        kept = vars(self.manifest).get("by_name")
        if kept is None or (kept[0] is not included_nodes and kept[0] != included_nodes):
            by_name = dict[str, list[str]]()
            for unique_id, node in self.non_source_nodes(included_nodes):
                for name in names(node):
                    by_name.setdefault(name, []).append(unique_id)
            kept = vars(self.manifest)["by_name"] = included_nodes, by_name
        return kept[1].get(text, [])

    selector.search = search_by_name


def _find_relations_by_name() -> None:
    from dbt.adapters.base.impl import BaseAdapter
    from dbt.adapters.reference_keys import _ReferenceKey

    adapter: Any = BaseAdapter
    search = adapter.get_relation

    def find(self: Any, database: str, schema: str, identifier: str) -> Any:
        if not self._schema_is_cached(database, schema):
            return search(self, database, schema, identifier)
        found = self.cache.relations.get(_ReferenceKey(database.lower(), schema.lower(), identifier.lower()))
        return next(iter(self._make_match([found.inner] if found else [], database, schema, identifier)), None)

    adapter.get_relation = find


def _keep_schemas_and_type_testers() -> None:
    import dbt_common.clients.agate_helper as agate
    from dbt.adapters.base.impl import BaseAdapter

    adapter: Any = BaseAdapter
    helper: Any = agate
    schemas_of = adapter._get_cache_schemas
    make_tester = cache(helper.build_type_tester)

    def schemas_of_each_once(self: Any, nodes: Any) -> Any:
        return schemas_of(self, {(node.database, node.schema): node for node in nodes}.values())

    def keep_tester(text_columns: Any, string_null_values: Any = ("null", "")) -> Any:
        return make_tester(tuple(text_columns), tuple(string_null_values))

    adapter._get_cache_schemas = schemas_of_each_once
    helper.build_type_tester = keep_tester


class MadeWhenRead(dict[str, Any]):
    """A dict that makes a value when it is first read: `make(name)`, for these names."""

    def __init__(self, names: Mapping[str, Any], make: Callable[[str], Any]) -> None:
        super().__init__()
        self.names = names
        self.make = make

    def __missing__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        self[name] = self.make(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.names

    def __iter__(self) -> Iterator[str]:
        yield from {**self.names, **dict.fromkeys(super().__iter__())}

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self.names) or super().__len__() > 0

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


def _make_contexts_when_read() -> None:
    from dbt.clients.jinja import MacroGenerator
    from dbt.context.macros import MacroNamespace
    from dbt.context.manifest import ManifestContext

    context: Any = ManifestContext
    to_dict = context.to_dict

    def namespace_of(self: Any) -> Any:
        """As MacroNamespaceBuilder makes it, which is done once for each package that macros are searched from."""
        builder, packages = self._get_namespace_builder(), self.manifest.get_macros_by_package()
        kept = vars(self.manifest).get("namespaces")
        if kept is None or kept[0] is not packages:
            kept = vars(self.manifest)["namespaces"] = packages, {}
        searched = (builder.root_package, builder.search_package, *builder.internal_package_names_order)
        if searched not in kept[1]:
            found = builder.build_namespace(packages, {})
            kept[1][searched] = found, dict.fromkeys(found)
        found, names = kept[1][searched]

        def macros(known: Any) -> MadeWhenRead:
            return MadeWhenRead(
                known, lambda name: MacroGenerator(known[name].macro, self._ctx, builder.node, builder.thread_ctx)
            )

        namespace: Any = MacroNamespace(
            global_namespace=macros(found.global_namespace),
            local_namespace=macros(found.local_namespace),
            global_project_namespace=macros(found.global_project_namespace),
            packages={name: macros(known) for name, known in found.packages.items()},
        )
        # The macros call each other by this dict: it is the one that the context fills.
        self._ctx = MadeWhenRead(names, namespace.__getitem__)
        return namespace

    def to_dict_when_read(self: Any) -> Any:
        filled = self._ctx
        if not isinstance(filled, MadeWhenRead):  # of a generic test, which has the macros that it calls alone
            return to_dict(self)
        own, macros, macro = self._context_members_, filled.names, filled.make

        def member(name: str) -> Any:
            value = own[name]
            return value.__get__(self) if hasattr(value, "__get__") else value

        builtins = MadeWhenRead(own, member)
        filled["context"], filled["builtins"] = filled, builtins
        builtins.get("var")  # when it is made, it lists the packages in which other values search
        # A macro has precedence over what dbt itself offers under its name.
        filled.names, filled.make = {**own, **macros}, lambda name: macro(name) if name in macros else builtins[name]
        return filled

    context._build_namespace, context.to_dict = namespace_of, to_dict_when_read


class Both(ChainMap[str, Any]):
    """The values of a context and of a template. ChainMap makes a generator to say whether it has a name."""

    def __contains__(self, name: object) -> bool:
        of_context, of_template = self.maps
        return name in of_context or name in of_template


def _keep_what_is_the_same() -> None:
    import dbt.context.base as base
    import dbt_common.clients.agate_helper as agate
    import dbt_common.clients.jinja as jinja
    import jinja2.sandbox
    from dbt.plugins.manager import PluginManager

    of_jinja: Any = base
    of_sandbox: Any = jinja2.sandbox
    is_internal = of_sandbox.is_internal_attribute
    known: dict[tuple[type, str], bool] = {}

    def is_internal_of_type(obj: Any, attribute: str) -> bool:
        """It depends on nothing else."""
        if (key := (type(obj), attribute)) not in known:
            known[key] = is_internal(obj, attribute)
        return known[key]

    of_sandbox.is_internal_attribute = is_internal_of_type
    vars(jinja)["ChainMap"] = Both
    helper: Any = agate
    plugins: Any = PluginManager
    of_jinja.get_context_modules = cache(of_jinja.get_context_modules)
    helper.empty_table = cache(helper.empty_table)
    plugins.get_prefixed_modules = cache(plugins.get_prefixed_modules)


def _begin_with_longest_chain() -> None:
    from dbt.graph.queue import GraphQueue

    queue: Any = GraphQueue

    def chains(self: Any, graph: Any) -> dict[str, int]:
        """The length of each node's longest chain, negative: the queue's first node is that of the smallest number."""
        scores: dict[str, int] = {}
        for node in reversed([node for level in self._grouped_topological_sort(graph) for node in level]):
            scores[node] = min((scores[child] for child in graph.successors(node)), default=0) - 1
        return scores

    queue._get_scores = chains
