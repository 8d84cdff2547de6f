// Pages of what is made of prices and positions: indices, premiums, and coins beside each other. Each is a declaration
// that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { chosen } from "./address.js";
import { Board } from "./board.js";
import { always, at, boardAt, buckets, charted, choice, index, pane } from "./declare.js";
import * as format from "./format.js";
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

const BOARDS = {
  "/indices": indices,
  "/premiums": premiums,
  "/compare": compared,
};

export const View = () => html`<${Board} board=${boardAt(BOARDS)} />`;
