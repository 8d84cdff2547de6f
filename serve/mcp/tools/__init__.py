"""The tools of /mcp, in the order in which they are listed."""

from serve.mcp.tool import Tool
from serve.mcp.tools.history import FUNDING_HISTORY, LIQUIDATIONS_HISTORY, OI_HISTORY
from serve.mcp.tools.markets import MARKET_SNAPSHOT
from serve.mcp.tools.spikes import SPIKE_FEED, SPIKE_OUTCOMES
from serve.mcp.tools.xray import XRAY_RISK_HISTORY, XRAY_RISK_RANKING

TOOLS: tuple[Tool, ...] = (
    MARKET_SNAPSHOT,
    FUNDING_HISTORY,
    OI_HISTORY,
    LIQUIDATIONS_HISTORY,
    SPIKE_FEED,
    SPIKE_OUTCOMES,
    XRAY_RISK_RANKING,
    XRAY_RISK_HISTORY,
)
