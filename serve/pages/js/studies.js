// Pages of what is made of the data: indices, statistics, premiums, and what there is to ask for. Each is a
// declaration that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { marketAt, pageAt } from "./address.js";
import { Board } from "./board.js";
import { always, at, boardAt, buckets, charted, choice, index, pane, rate } from "./declare.js";
import * as format from "./format.js";
import { Link } from "./parts.js";
import * as table from "./table.js";

const indices = {
  title: "Indices",
  names: { season: "Altcoin season", fear: "Fear and greed" },
  about:
    "Altcoin season: of the largest coins, how many did better than Bitcoin in 90 days. Derivatives fear and greed: how funding, open interest, positioning and liquidations compare with their own past.",
  requests: { season: always("/api/altcoin-season"), fear: always("/api/derivatives-fear-greed") },
  rows: { season: "coins", fear: "days" },
  figures: ({ season, fear }) => [
    [
      "Altcoin season",
      season ? season.value.toFixed(0) : format.NONE,
      season ? `${season.zone.replace("_", " ")}, ${season.n_beat_btc} of ${season.n_coins} coins` : "",
    ],
    ["30 days ago", season?.value_30d_ago == null ? format.NONE : season.value_30d_ago.toFixed(0), ""],
    [
      "Fear and greed",
      fear?.today?.value ?? format.NONE,
      fear?.today?.label
        ? `${fear.today.label}, ${fear.today.provisional ? "provisional: the day is not over" : "completed"}`
        : "",
    ],
  ],
  charts: ({ season, fear }) => {
    if (!season?.history.length) return null;
    const [times, values] = [0, 1].map((place) => season.history.map((day) => day[place]));
    const panes = [pane("season", "Altcoin season", "0 to 100", times, [["altcoin season", "oi", values]], index)];
    if (fear?.days.length > 1) {
      panes.push(
        pane(
          "fear",
          "Fear and greed",
          "0 to 100, completed days",
          fear.days.map((day) => Date.parse(day.date)),
          [["fear and greed", "price", fear.days.map((day) => day.value)]],
          index,
        ),
      );
    }
    return { start: times[0], end: times.at(-1), panes };
  },
  tables: ({ season, fear }) => [
    ...(season
      ? [
          {
            name: "season",
            half: true,
            title: "Coins of the season",
            note: season.date,
            rows: season.coins,
            columns: [
              table.coin(),
              table.count("Rank", "rank"),
              table.change("90 days", "return_90d", 1),
              table.change("Against BTC", "vs_btc", 1),
              table.text("Note", (row) => (row.beat_btc ? "did better" : "")),
            ],
          },
          {
            name: "excluded",
            half: true,
            title: "Left out of the season",
            rows: season.excluded,
            none: "None.",
            columns: [table.coin(), table.text("Reason", "reason")],
          },
        ]
      : []),
    ...(fear?.today
      ? [
          {
            name: "components",
            half: true,
            title: "Components of today",
            note: "percentile of the last 90 days",
            rows: Object.entries(fear.today.components ?? {}).map(([part, value]) => ({ part, value })),
            columns: [
              table.text(
                "Part",
                (row) => ({ oi: "open interest", ls: "long/short", liq: "liquidations" })[row.part] ?? row.part,
              ),
              table.number("Percentile", "value", 1),
            ],
          },
        ]
      : []),
  ],
};

const outcomes = [
  table.count("Outcomes", "n"),
  table.percent("Went on", "hit_rate"),
  table.percent("By chance", "base_rate"),
  table.change("Quarter below", "q1"),
  table.change("Median", "median"),
  table.change("Quarter above", "q3"),
  table.text("Note", (row) => (row.low_n ? "fewer than 30" : "")),
];
const horizon = (minutes) => (of) => ({ ...of, ...of.overall.find((one) => String(one.horizon_min) === minutes) });
const spikesOf = (title, request, more, feed = false) => ({
  title,
  about:
    "Minutes with far more volume than usual, and what the price did after 5, 15 and 60 minutes: how often it went on in the direction of the spike, and how often it would have by chance.",
  requests: { spikes: request, feed: feed ? always("/api/spikes?range=24h&limit=50") : () => null },
  names: { feed: "Newest" },
  rows: { spikes: "overall", feed: "spikes" },
  choices: [
    choice("window", "Window", ["7d", "30d", "all"], "30d"),
    choice("horizon", "Minutes after", ["5", "15", "60"]),
  ],
  tables: ({ spikes, feed: newest }, { horizon: minutes }) => [
    ...(newest ? [newestOf(newest.spikes, [5, 15, 60])] : []),
    ...(spikes
      ? [
          {
            name: "overall",
            title: "Outcomes",
            note: `${spikes.sample} spikes, ${spikes.pending} not due yet`,
            rows: spikes.overall,
            columns: [table.number("Minutes after", "horizon_min", 0), ...outcomes],
          },
          {
            name: "venues",
            title: `By exchange, ${minutes} minutes after`,
            rows: spikes.by.venues.map(horizon(minutes)),
            columns: [table.text("Exchange", (row) => row.venue + (row.hip3 ? " HIP-3" : "")), ...outcomes],
          },
          {
            name: "directions",
            half: true,
            title: `By direction, ${minutes} minutes after`,
            rows: spikes.by.directions.map(horizon(minutes)),
            columns: [table.text("Direction", "dir"), ...outcomes],
          },
          ...more(spikes),
        ]
      : []),
  ],
});
const newestOf = (rows, horizons) => ({
  name: "recent",
  first: 20,
  title: "Newest",
  note: "in 24 hours",
  none: "None in 24 hours.",
  rows,
  columns: [
    table.time("Time", "ts"),
    ...(rows.some((row) => row.base) ? [table.coin()] : []),
    table.text("Market", (row) => row.market ?? `${row.venue} ${row.symbol}`, {
      show: (said, row) => (row.market ? html`<${Link} href=${marketAt(said)}>${said}<//>` : said),
    }),
    table.text("Direction", "dir"),
    table.number("Deviations", "sig", 1),
    table.usd("Volume", "volume_usd"),
    table.price("Price", "price"),
    ...horizons.map((minutes) =>
      table.change(`${minutes} min`, (row) => row.outcomes.find((one) => one.horizon_min === minutes)?.return),
    ),
  ],
});
const spikeAt = (base) => html`<${Link} href=${pageAt(`/spikes/${encodeURIComponent(base)}`)}>${base}<//>`;
const spikes = spikesOf(
  "Volume spikes",
  ({ window }) => `/api/spike-stats?window=${window}`,
  (data) => [
    {
      name: "coins",
      half: true,
      title: "By coin, 60 minutes after",
      rows: data.coins,
      columns: [
        { ...table.coin(), show: spikeAt },
        table.count("Outcomes", "n"),
        table.percent("Went on", "hit_rate"),
        table.change("Median", "median"),
      ],
    },
  ],
  true,
);
const coinSpikes = spikesOf(
  (coin) => `Volume spikes of ${coin}`,
  ({ window }, coin) => `/api/spike-stats/${encodeURIComponent(coin)}?window=${window}`,
  (data) => [{ ...newestOf(data.recent, data.horizons_min), note: "" }],
);

const percentValue = (value) => (value == null ? format.NONE : format.change(value / 100));
const premiums = {
  title: "Premiums",
  names: { kimchi: "Korea", coinbase: "Coinbase" },
  about:
    "How much more a coin costs on Upbit and Bithumb, at the bank's exchange rate and at their own price of USDT, and on Coinbase, than on Binance.",
  requests: {
    kimchi: ({ c, range }) => `/api/kimchi-premium/history?base=${encodeURIComponent(c)}&range=${range}`,
    coinbase: ({ c, range }) => `/api/coinbase-premium/history?base=${encodeURIComponent(c)}&range=${range}`,
  },
  choices: [choice("c", "Coin", ["BTC", "ETH"]), choice("range", "Range", ["7d", "30d", "90d", "1y"], "30d")],
  figures: ({ kimchi, coinbase }) => [
    ["Upbit", ...newest(kimchi, "upbit")],
    ["Bithumb", ...newest(kimchi, "bithumb")],
    ["Upbit, at its USDT", ...newest(kimchi, "upbit_usdt")],
    ["Coinbase", ...newest(coinbase, "premium")],
  ],
  charts: ({ kimchi, coinbase }, { c }) => {
    const drawn = charted(kimchi, (answer) => {
      const [times, upbit, bithumb, own] = buckets(answer, ["upbit", "bithumb", "upbit_usdt"]);
      return [
        pane(
          "korea",
          `Korea, ${c}`,
          "at the bank's rate; Upbit also at its own price of USDT",
          times,
          [
            ["Upbit, USDT", "ink-3", own],
            ["Bithumb", "down", bithumb],
            ["Upbit", "up", upbit],
          ],
          percentValue,
          { gaps: answer.gaps },
        ),
      ];
    });
    const other = charted(coinbase, (answer) => {
      const [times, premium] = buckets(answer, ["premium"]);
      return [
        pane("coinbase", `Coinbase, ${c}`, "against Binance", times, [["Coinbase", "price", premium]], percentValue, {
          gaps: answer.gaps,
        }),
      ];
    });
    return drawn || other
      ? {
          start: (drawn || other).start,
          end: (drawn || other).end,
          panes: [...(drawn?.panes ?? []), ...(other?.panes ?? [])],
        }
      : null;
  },
  tables: ({ kimchi, coinbase }) => [
    {
      name: "sources",
      title: "Rates used",
      rows: [kimchi, coinbase].filter(Boolean),
      columns: [table.text("Premium", "metric"), table.text("Source", "source")],
    },
  ],
};
const newest = (answer, field) => [
  percentValue(answer ? at(answer[field], null) : null),
  answer ? `at ${format.stamp(answer.t[answer[field].findLastIndex((value) => value != null)])}` : "",
];

const newListings = {
  title: "New listings",
  about: "USDT perps that Binance and Bybit have listed lately, and what they have done since.",
  requests: { listings: ({ window }) => `/api/new-listings?window=${window}` },
  rows: { listings: "listings" },
  choices: [choice("window", "Window", ["30d", "90d"], "90d")],
  tables: ({ listings }, { window }) =>
    listings
      ? [
          {
            name: "listings",
            title: `Listed in ${window}`,
            rows: listings.listings,
            note: [
              ...listings.failed.map((venue) => `${venue}: its list could not be read last`),
              ...listings.missing.map((venue) => `${venue}: never read`),
            ].join("; "),
            none: `Neither Binance nor Bybit has listed a perp in ${window}.`,
            columns: [
              table.coin(),
              table.text("Exchange", "venue"),
              table.text("Contract", "symbol"),
              table.time("Listed", (row) => row.listed_ms ?? row.launch_ms),
              table.price("First", "first_open"),
              table.price("Now", "price"),
              table.change("Since", "change", 1),
              table.usd("Open interest", "oi_usd"),
              table.usd("Volume, 24 h", "vol_24h"),
              table.funding("Funding, 8 h", "funding"),
              table.text("Note", (row) => (row.live === false ? "not trading" : "")),
            ],
          },
        ]
      : [],
};

const INKS = ["price", "oi", "down", "up", "partial"];
const compared = {
  title: "Compare",
  about:
    "Two to five coins, each 100 at the first time that all of them have. Other coins are chosen in the address: ?c=BTC,SOL,DOGE.",
  requests: { overlay: ({ c, m, range }) => `/api/coins/overlay?c=${encodeURIComponent(c)}&m=${m}&range=${range}` },
  choices: [
    choice("c", "Coins", ["BTC,ETH", "BTC,ETH,SOL", "SOL,XRP,DOGE"]),
    choice("m", "Of", ["price", "oi"]),
    choice("range", "Range", ["7d", "30d", "90d"], "30d"),
  ],
  charts: ({ overlay }, { m }) =>
    charted(overlay, (answer) => {
      const [times, ...values] = buckets(
        { ...answer, ...Object.fromEntries(answer.bases.map((base) => [base, answer[answer.field_map[base]]])) },
        answer.bases,
      );
      return [
        pane(
          "compared",
          m === "oi" ? "Open interest" : "Price",
          "100 at the start",
          times,
          answer.bases.map((base, place) => [base, INKS[place], values[place]]),
          index,
        ),
      ];
    }),
  tables: ({ overlay }) =>
    overlay
      ? [
          {
            name: "coins",
            title: "Over the range",
            rows: overlay.bases.map((base) => ({
              base,
              state: overlay.sources[base].state,
              end: at(overlay[overlay.field_map[base]] ?? [], null),
            })),
            columns: [
              table.coin(),
              table.change("Change", (row) => (row.end == null ? null : row.end / 100 - 1), 1),
              table.text("State", "state"),
            ],
          },
        ]
      : [],
};

const REASONS = { missing_legs: "exchanges of its index are missing", truncated_book: "a book ends inside the band" };
const xray = {
  title: "Liquidation risk",
  about:
    "What would be liquidated if the price moved through a band, over what rests in the order books out to there. An estimate: leverage and entries are a model's, which nothing calibrates.",
  requests: { risk: ({ band, side }) => `/api/xray?band_pct=${band}&side=${side}` },
  rows: { risk: "rows" },
  choices: [choice("band", "Band, %", ["0.5", "1", "2", "5"], "2"), choice("side", "Side", ["both", "long", "short"])],
  tables: ({ risk }) =>
    risk
      ? [
          {
            name: "risk",
            title: "Perps",
            note: `${format.stamp(risk.t)}; without a ratio: ${risk.counts.stale} stale, ${risk.counts.insufficient} insufficient`,
            none: "No perp has an estimate and books of its index yet.",
            rows: risk.rows,
            columns: [
              table.text("Market", "market", {
                show: (market) => html`<${Link} href=${marketAt(market)}>${market}<//>`,
              }),
              table.count("Rank", "rank"),
              table.usd("Open interest", "oi_usd"),
              table.usd("Would be liquidated", "exposure_usd"),
              table.usd("Rests before it", "depth_usd"),
              table.number("Ratio", "ratio", 2, {
                show: (one, row) => (one != null && row.state === "partial" ? "≤ " : "") + format.ratio(one, 2),
              }),
              table.number("With half the leverage", "ratio_low", 2),
              table.number("With twice", "ratio_high", 2),
              table.text("Note", (row) => (row.reason ? `in part: ${REASONS[row.reason] ?? row.reason}` : "")),
            ],
          },
        ]
      : [],
};

const BOARDS = {
  "/xray": xray,
  "/indices": indices,
  "/spikes": spikes,
  "/premiums": premiums,
  "/new-listings": newListings,
  "/compare": compared,
};

export function View({ name }) {
  const board = boardAt(BOARDS);
  return html`<${Board} board=${board === spikes && name ? coinSpikes : board} name=${name} />`;
}
