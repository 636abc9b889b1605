"""Nodes with two inputs."""

from __future__ import annotations

from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import (
    Transformation,
)
from headrace.sql.operators import specs
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import ScalarJoin, SemiJoin
from headrace.sql.translation.base import NodeTranslator

__all__ = ["JoinNodes"]


class JoinNodes(NodeTranslator):
    """Set operations, and what subqueries become."""

    def _setoperation(self, node: n.SetOperation) -> Transformation:
        width = range(len(node.schema))
        changelog = not self.settings.batch
        inputs = [
            self.keyed(self._as_changelog(i, changelog), list(width))
            for i in (node.left, node.right)
        ]
        settings = self.settings
        spec = specs.SetOperationSpec(node.kind, node.all, settings.batch, settings.state_ttl_ms)
        return self.operator(node.kind.capitalize(), inputs, spec)

    def _semijoin(self, node: SemiJoin) -> Transformation:
        keys = ((), ()) if node.null_aware else (node.left_keys, node.right_keys)
        make = specs.NotInSpec if node.null_aware else specs.SemiJoinSpec
        spec = make(
            node.left_keys,
            node.anti,
            self.changelog(node),
            self.settings.batch,
            self.settings.state_ttl_ms,
        )
        return self._joined(node, keys, spec)

    def _scalarjoin(self, node: ScalarJoin) -> Transformation:
        spec = specs.ScalarJoinSpec(self.settings.batch, self.settings.state_ttl_ms)
        return self._joined(node, ((), ()), spec)

    def _joined(
        self,
        node: SemiJoin | ScalarJoin,
        keys: tuple[tuple[int, ...], tuple[int, ...]],
        spec: OperatorSpec,
    ) -> Transformation:
        """Both sides by their keys, with the kinds of their rows; in one subtask without keys."""
        inputs = [
            self.keyed(self._as_changelog(side, not self.settings.batch), columns)
            for side, columns in zip((node.left, node.right), keys, strict=True)
        ]
        return self.operator(spec.kind, inputs, spec, not keys[0])
