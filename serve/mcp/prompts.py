"""Prompts of /mcp: questions that users choose in a client, written so that a model asks the right tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serve.contract.errors import ApiError, argument_details, nearest, quote, suggestion
from serve.contract.parameters import Param, coin, duration


@dataclass(frozen=True)
class Prompt:
    """A prompt: its text, in which `{name}` stands for an argument, and what stands for one that is not given."""

    name: str
    title: str
    description: str
    text: str
    arguments: Mapping[str, Param] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)

    def definition(self) -> dict[str, Any]:
        """The prompt as in prompts/list."""
        arguments = [
            {"name": name, "description": param.description, "required": name not in self.defaults}
            for name, param in self.arguments.items()
        ]
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            **({"arguments": arguments} if arguments else {}),
        }

    def filled(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The prompt as in prompts/get; raises ApiError for an argument that is unknown, missing or invalid."""
        for name, value in given.items():
            if name not in self.arguments:
                allowed = f"{self.name} takes {', '.join(self.arguments) or 'no arguments'}"
                details = argument_details(name, value, allowed, nearest(name, self.arguments))
                raise ApiError(400, f"{quote(name)} is not an argument; {allowed}", details=details)
        values = {}
        for name, param in self.arguments.items():
            text = given.get(name) or self.defaults.get(name)
            if text is None:
                details = argument_details(name, None, param.description)
                raise ApiError(400, f"{name}: a value is required: {param.description}", details=details)
            param.read(name, text)
            values[name] = text
        content = {"type": "text", "text": self.text.format(**values)}
        return {"description": self.description, "messages": [{"role": "user", "content": content}]}


BASE = coin("Coin, such as BTC.")
RANGE = duration("Length up to now, such as 6h or 7d; 1d without it.", "1d")
FAITHFULLY = (
    " Check status, freshness, coverage and warnings of each result, say what was not recorded, and never take null for"
    " zero. Give numbers with their units and times in UTC, and link provenance.page of the results that you use."
)
PROMPTS = (
    Prompt(
        "explain_move",
        "Explain a move of a coin",
        "What happened with a coin: price, open interest, funding, liquidations and volume spikes of a time range.",
        "What moved {base} in the last {range}? Call coin_overview for {base}. Then read oi_history,"
        " liquidations_history and metric_history of price with base {base} and range {range}, and spike_feed where"
        " the range is at most 24h. Say when the move began and ended, whether open interest rose or fell with it (new"
        " positions or closed ones), which side was liquidated and how much, and what funding did. Separate what the"
        " data shows from what you infer." + FAITHFULLY,
        {"base": BASE, "range": RANGE},
        {"range": "1d"},
    ),
    Prompt(
        "compare_funding",
        "Compare funding across exchanges",
        "The funding rates of a coin by exchange, now and over time, as fractions per 8 hours and per year.",
        "Compare the funding of {base} across exchanges. Call market_snapshot for {base}, and funding_history with"
        " base {base}, by venue and range {range}. Give each exchange's rate now and its mean over the range, per 8"
        " hours and per year (times 1095), the widest difference between two exchanges and how steady it was. Rates"
        " are quoted, not settled, and costs of trading are not in them." + FAITHFULLY,
        {"base": BASE, "range": RANGE},
        {"range": "7d"},
    ),
    Prompt(
        "market_overview",
        "Overview of the market",
        "The state of crypto derivatives: both indices, bitcoin and ether, options, and how complete the data is.",
        "Give an overview of crypto derivatives now. Call market_indices, coin_overview for BTC and for ETH,"
        " options_summary for BTC, and data_coverage of the last day. In at most ten sentences: prices and open"
        " interest with their changes, funding, liquidations, positioning, implied volatility, altcoin season, fear"
        " and greed." + FAITHFULLY,
    ),
    Prompt(
        "check_liquidation_risk",
        "Check the liquidation risk of a coin",
        "Estimated liquidations within price bands against the order books, for the perps of a coin.",
        "How exposed is {base} to a cascade of liquidations? Call market_snapshot for {base}, xray_risk_ranking with"
        " side both, and xray_risk_history for its perp with the highest open interest that is ranked. Give exposure,"
        " depth and their ratio by band and side with the range of the estimate, how they changed, and what makes the"
        " estimate weak: leverage is assumed, nobody reports positions." + FAITHFULLY,
        {"base": BASE},
    ),
)
BY_NAME = {prompt.name: prompt for prompt in PROMPTS}


def get_prompt(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """The prompt with its arguments filled in; raises ApiError for one that there is not."""
    if name not in BY_NAME:
        allowed = f"use one of {', '.join(BY_NAME)}"
        details = argument_details("name", name, allowed, nearest(name, BY_NAME))
        raise ApiError(
            400, f"name: there is no prompt {quote(name)}; {allowed}{suggestion(name, BY_NAME)}", None, details
        )
    return BY_NAME[name].filled(given)
