import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { DEFAULTS } from "../config/defaults.ts";
import type { Layer } from "../config/layers.ts";
import { placeRules } from "../config/place-rules.ts";
import { ofTool, readConfig } from "../config/any-config.fixture.ts";
import { resolveTools } from "../config/tool-settings.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { findClaims, withoutClaims } from "./claims.ts";
import { listClaims } from "./describe-claim.ts";

const BASE: readonly Layer[] = [
  { name: "defaults", config: DEFAULTS, isBase: true },
  {
    name: "builtin tools",
    config: readConfig({
      conversation: {
        tools: {
          read: { source: "builtin", enable: true, run: "unattended" },
          write: { source: "builtin", enable: true, run: "unattended" },
          plain: { source: "builtin", enable: true },
        },
      },
    }),
    isBase: true,
    readOnlyTools: ["read"],
  },
];

function workspace(value: JsonObject, name = ".jp/config.toml"): Layer {
  return placeRules({ name, config: readConfig(value), isFromWorkspace: true });
}

function user(value: JsonObject): Layer {
  return placeRules({ name: "config.toml", config: readConfig(value) });
}

const claimed = (...layers: readonly Layer[]) =>
  findClaims([...BASE, ...layers]).map(({ kind, name }) => `${kind} ${name}`);

const IN_SRC = { arg: "/path", prefix: "src", mode: "unattended" };
const ofWrite = (policy: JsonObject) => ofTool({ policy }, "write");

describe("rules of a workspace", () => {
  test.each<[string, Json]>([
    ["one on an argument", [IN_SRC]],
    ["one for every call", [{ mode: "unattended" }]],
    ["one after stricter ones", [{ mode: "ask", arg: "/path", const: "a" }, IN_SRC]],
  ])(
    "need trust if they let something through, and do not count without it: %s",
    (_title, rules) => {
      counters("T-WORK-11", "T-RULE-5");
      for (const policy of [{ run: rules }, { result: rules }]) {
        const layers = [...BASE, workspace(ofWrite(policy))];
        const claims = findClaims(layers);
        expect(claims.map(({ name }) => name)).toEqual(["write"]);
        const left = resolveTools(withoutClaims(layers, claims)).get("write");
        expect(left?.policy).toEqual({ run: [], result: [] });
      }
      expect(claimed(workspace(ofTool({ policy: { run: rules } }, "*")))).toEqual(["tool *"]);
    },
  );

  test("that ask, have edited or skip need none, and count", () => {
    const rules = ["ask", "edit", "skip"].map((mode) => ({ ...IN_SRC, mode }));
    const policy = { run: rules, result: rules };
    const layers = [...BASE, workspace(ofWrite(policy)), workspace(ofTool({ policy }, "*"))];
    const claims = findClaims(layers);
    expect(claims).toEqual([]);
    expect(resolveTools(withoutClaims(layers, claims)).get("write")?.policy.run).toHaveLength(6);
  });

  test("need trust on a tool that reads, if the user has said how it runs", () => {
    counters("T-WORK-11");
    const loose = workspace(ofTool({ policy: { run: [IN_SRC] } }, "read"));
    const word = workspace(ofTool({ policy: { run: "unattended" } }, "read"));
    for (const own of [{ run: "ask" }, { policy: { run: "ask" } }]) {
      expect(claimed(user(ofTool(own, "read")), loose)).toEqual(["tool read"]);
      expect(claimed(user(ofTool(own, "read")), word)).toEqual(["tool read"]);
    }
  });

  test("need trust again if one that came before them is gone", () => {
    counters("T-WORK-11");
    const [value, other] = [
      [{ ...IN_SRC, mode: "skip" }, { mode: "unattended" }],
      [{ mode: "unattended" }],
    ].map((rules) => findClaims([...BASE, workspace(ofWrite({ run: rules }))])[0]?.value);
    expect(value).not.toEqual(other);
  });

  test("are trusted by what they say, not by where they stand", () => {
    const said = ofWrite({ run: [IN_SRC] });
    const [one, other] = [".jp/config.toml", "/elsewhere/.jp.toml"].map(
      (name) => findClaims([...BASE, workspace(said, name)])[0],
    );
    expect(one?.value).toEqual(other?.value);
    expect(JSON.stringify(one?.value)).not.toContain("config.toml");
  });

  test("need trust if they are for all tools, also if every tool has rules of its own", () => {
    counters("T-WORK-11");
    const rules = { policy: { run: [{ mode: "ask", arg: "/path", const: "a" }] } };
    const own = user({ conversation: { tools: { read: rules, write: rules, plain: rules } } });
    const loose = workspace(ofTool({ policy: { run: [IN_SRC] } }, "*"));
    expect(claimed(own, loose)).toEqual(["tool *"]);
  });

  test("need none if the user has the same: those come first", () => {
    const same = ofWrite({ run: [IN_SRC] });
    expect(
      claimed(user(ofWrite({ run: [{ mode: "ask", tool: "x" }, IN_SRC] })), workspace(same)),
    ).toEqual([]);
    expect(
      claimed(user(ofWrite({ run: [{ ...IN_SRC, prefix: "lib" }] })), workspace(same)),
    ).toEqual(["tool write"]);
  });

  test("are described to whoever is to trust them", () => {
    const policy = { run: [{ ...IN_SRC, prefix: "src\n" }], result: [{ mode: "unattended" }] };
    expect(listClaims(findClaims([...BASE, workspace(ofWrite(policy))]))).toEqual([
      ".jp/config.toml:",
      expect.stringMatching(
        /^- tool write: .*runs without asking by the rule .*"\/path".*"src\\n".*, sends its results to the model without asking.*$/,
      ),
    ]);
  });
});

describe("one word as a workspace's policy", () => {
  test("needs trust if it is looser than the user's, by whichever key that is", () => {
    counters("T-WORK-11");
    const loose = workspace(ofTool({ policy: { run: "unattended" } }, "plain"));
    const asks = workspace(ofTool({ policy: { run: "ask" } }, "plain"));
    expect(claimed(loose)).toEqual(["tool plain"]);
    expect(claimed(asks)).toEqual([]);
    for (const own of [{ run: "skip" }, { policy: { run: "skip" } }]) {
      for (const name of ["plain", "*"])
        expect(claimed(user(ofTool(own, name)), asks)).toEqual(["tool plain"]);
    }
    const beside = user({
      conversation: {
        tools: { "*": { policy: { run: "skip" } }, plain: { policy: { result: "ask" } } },
      },
    });
    expect(claimed(beside, asks)).toEqual(["tool plain"]);
  });
});

describe("a workspace", () => {
  test("needs trust to say that a tool does no harm, and none to say that it does", () => {
    for (const effect of ["reads", "edits"])
      expect(claimed(workspace(ofTool({ effect }, "write")))).toEqual(["tool write"]);
    expect(claimed(workspace(ofTool({ effect: "destroys" }, "write")))).toEqual([]);
  });
});
