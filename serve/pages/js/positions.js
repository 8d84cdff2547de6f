// Pages of who holds what, and of perps against spot: declarations that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { Board } from "./board.js";
import { always, at, boardAt, buckets, charted, COIN, pane, RANGE, rate, series } from "./declare.js";
import * as format from "./format.js";
import { knownPath, withThen } from "./known.js";
import * as table from "./table.js";

const longShort = {
  title: "Long and short",
  names: { now: "Newest", accounts: "Accounts", whales: "Whales and retail" },
  about:
    "Which fraction is long: of all accounts, of the positions of top traders. Long and short contracts are always as many; who holds them is not.",
  requests: { now: always("/api/long-short"), accounts: series("long-short"), whales: series("whale-vs-retail") },
  rows: { now: "coins" },
  choices: [COIN, RANGE],
  charts: ({ accounts, whales }, { c }) =>
    charted(accounts, (answer) => {
      const [times, long] = buckets(answer, ["v"]);
      const panes = [
        pane(
          "accounts",
          `Accounts long, ${c}`,
          "mean of Binance and Bybit",
          times,
          [["accounts", "price", long]],
          rate,
          { gaps: answer.gaps },
        ),
      ];
      if (!whales?.t.length) return panes;
      const [moments, whale, retail] = buckets(whales, ["whale", "retail"]);
      return [
        ...panes,
        pane(
          "whales",
          "Top positions and all accounts",
          "Binance",
          moments,
          [
            ["top positions", "oi", whale],
            ["all accounts", "down", retail],
          ],
          rate,
          { gaps: whales.gaps },
        ),
      ];
    }),
  tables: ({ now }) =>
    now
      ? [
          {
            name: "coins",
            title: "Newest",
            note: "fraction that is long, and its difference to 24 hours ago",
            rows: now.coins,
            columns: [
              table.coin(),
              ...[
                ["binance_accounts", "Binance accounts"],
                ["binance_top_pos", "Binance top positions"],
                ["bybit_accounts", "Bybit accounts"],
              ].flatMap(([key, title]) => [
                table.percent(title, (row) => row[key]?.long),
                table.points("24 h", (row) => row[key]?.chg_24h, { hint: `${title}, change in 24 hours` }),
              ]),
            ],
          },
        ]
      : [],
};

const basis = {
  title: "Basis",
  names: { basis: "Basis", venues: "By exchange", then: "As known" },
  about:
    "How far perps trade above or below the spot pair of the same exchange. The annual figure treats the premium as a carry.",
  requests: {
    basis: (choices) => series("basis")(choices),
    venues: (choices) => `${series("basis")(choices)}&by=venue`,
    then: ({ c }, _, { basis: answer }) => knownPath(`/api/series/basis?base=${encodeURIComponent(c)}`, answer),
  },
  then: true,
  choices: [COIN, RANGE],
  charts: ({ basis: answer, then }, { c }) =>
    charted(answer, () => {
      const [times, value, annual] = buckets(answer, ["v", "ann"]);
      return [
        withThen(
          pane(
            "basis",
            `Premium, ${c}`,
            "fraction of spot",
            times,
            [["premium", "price", value]],
            (one) => format.change(one, 3),
            { gaps: answer.gaps },
          ),
          answer,
          then,
          "v",
        ),
        pane("annual", "Annualised", "a year", times, [["annualised", "oi", annual]], (one) => format.change(one, 1), {
          gaps: answer.gaps,
        }),
      ];
    }),
  tables: ({ venues }) =>
    venues?.venues
      ? [
          {
            name: "venues",
            title: "By exchange",
            note: "newest bucket with a value",
            none: "No exchange has both a perp and a spot pair of it.",
            rows: Object.entries(venues.venues).map(([venue, arrays]) => ({
              venue,
              v: at(arrays.v, null),
              ann: at(arrays.ann, null),
            })),
            columns: [
              table.text("Exchange", "venue"),
              table.change("Premium", "v", 3),
              table.change("Annualised", "ann", 1),
            ],
          },
        ]
      : [],
};

const BOARDS = { "/long-short": longShort, "/basis": basis };

export const View = () => html`<${Board} board=${boardAt(BOARDS)} />`;
