/** Rules about paths, with real folders and links: none of the ways to write a path gets past a rule. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { Rule, RuleConfig } from "../../settings/config/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { compileRules, evaluateRules } from "./evaluate.ts";

const LONG_NAME = "x".repeat(300);

/**
 * ```text
 * above/outside/file          shop/link-out      → ../outside
 *       shop/src/sub/a.ts     shop/link-in       → src
 *       shop/secret/key       shop/src/to-secret → ../secret
 *       shop/.env             shop/src/key.ts    → ../secret/key
 * ```
 */
function workspace() {
  const above = realpathSync(temporaryFolder());
  const root = path.join(above, "shop");
  for (const folder of ["outside", "shop/src/sub", "shop/secret", "shop/lib"])
    mkdirSync(path.join(above, folder), { recursive: true });
  for (const file of ["outside/file", "shop/src/sub/a.ts", "shop/secret/key", "shop/.env"])
    writeFileSync(path.join(above, file), "");
  const links = {
    "link-out": "../outside",
    "link-in": "src",
    "src/to-secret": "../secret",
    "src/key.ts": "../secret/key",
    "src/absolute": path.join(above, "outside"),
    "src/new": "../secret/new", // To what does not exist.
    "src/chain": "chain-2",
    "src/chain-2": "../src/new",
    "src/gone": "../nowhere/deep/new",
    "src/loop": "loop",
    "src/loop-a": "loop-b",
    "src/loop-b": "loop-a",
    "src/up": "..",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, path.join(root, name));
  return { above, root };
}

async function decide(root: string, rule: Omit<RuleConfig, "arg">, written: string) {
  const placed: Rule = {
    arg: "/path",
    ...rule,
    place: { from: "user", key: "conversation.tools.edit.policy.run[0]", layer: "config.toml" },
  };
  const call = {
    tool: { name: "edit", source: { type: "builtin" } },
    arguments: { path: written },
    kinds: { "/path": "path" },
    root,
  } as const;
  const verdict = await evaluateRules(await compileRules([placed], call), call);
  return verdict?.mode;
}

/** Those of the paths that a rule decides about. */
async function decided(root: string, rule: Omit<RuleConfig, "arg">, paths: readonly string[]) {
  const modes = await Promise.all(paths.map((written) => decide(root, rule, written)));
  return paths.filter((_, index) => modes[index] !== undefined);
}

describe("a rule that lets calls run on a folder", () => {
  const rule = { prefix: "src/", mode: "unattended" } as const;

  test("holds for its files, however they are written", async () => {
    const { root } = workspace();
    const inside = [
      "src",
      "src/",
      "src/sub/a.ts",
      "./src/sub/a.ts",
      "src//sub/./a.ts",
      "src/sub/../sub/a.ts",
      "lib/../src/sub/a.ts",
      "src/sub/",
      "src/does/not/exist.ts",
      "src/sub/a.ts/through-a-file",
      "src/..dots",
      path.join(root, "src/sub/a.ts"),
      `${root}/../shop/src/sub/a.ts`,
    ];
    expect(await decided(root, rule, inside)).toEqual(inside);
  });

  test("does not hold for what leads out of it", async () => {
    counters("T-RULE-1");
    const { above, root } = workspace();
    const outside = [
      "",
      ".",
      "..",
      "/",
      "src/..",
      "src/../secret/key",
      "src/../../outside/file",
      "src/sub/../../.env",
      "src-old/a.ts",
      "srcs",
      path.join(above, "outside/file"),
      `${root}/src/../secret/key`,
      "/src/sub/a.ts",
      "src/to-secret/key",
      "src/to-secret",
      "src/key.ts",
      "src/absolute/file",
      "src/absolute/new/file",
      "src/to-secret/../sub/a.ts", // For the system, the parent of secret.
      "src/up/secret/key",
      "src/up/src/up/.env",
      "link-out/file",
      "src/new",
      "src/chain",
      "src/gone",
      "src/gone/deeper",
      "src/loop",
      "src/loop/a.ts",
      "src/loop-a",
      "src/missing/../sub/a.ts", // May be a link by then.
      "SRC/sub/a.ts",
      "Src/sub/a.ts",
      "ſrc/sub/a.ts",
      "src\u200b/sub/a.ts",
      "src./sub/a.ts",
      "src /sub/a.ts",
      " src/sub/a.ts",
      "src\\sub\\a.ts",
      "src\0/sub/a.ts",
      "src/sub/a.ts\0",
      "src/a\0/../../.env",
      "~/src/a.ts",
      "~",
      `src/${LONG_NAME}/a.ts`,
    ];
    expect(await decided(root, rule, outside)).toEqual([]);
  });

  test("holds for a link that stays in it, and for the workspace as a whole", async () => {
    const { root } = workspace();
    const all = { prefix: ".", mode: "unattended" } as const;
    const paths = ["link-in/sub/a.ts", "src/to-secret/key", "src/up/.env", "lib", "."];
    expect(await decided(root, all, paths)).toEqual(paths);
    expect(await decided(root, all, ["link-out/file", "src/absolute", "..", "/etc"])).toEqual([]);
    expect(await decided(root, rule, ["link-in/sub/a.ts"])).toEqual([]); // It names another folder.
  });

  test("outside of the workspace, or around it, holds for it as well", async () => {
    const { above, root } = workspace();
    const paths = ["../outside/file", path.join(above, "outside/file")];
    const outside = { prefix: "../outside", mode: "unattended" } as const;
    expect(await decided(root, outside, [...paths, "src/sub/a.ts"])).toEqual(paths);
    const around = { prefix: above, mode: "unattended" } as const;
    const within = [...paths, "src/sub/a.ts", "link-out/file", "."];
    expect(await decided(root, around, [...within, "/etc/passwd"])).toEqual(within);
  });

  test("in a workspace that is reached by a link holds for its files, and not for what else is beside the link", async () => {
    const { above, root } = workspace();
    mkdirSync(path.join(above, "links"));
    const link = path.join(above, "links/shop");
    symlinkSync(root, link);
    const paths = ["src/sub/a.ts", `${link}/src/sub/a.ts`, `${root}/src/sub/a.ts`];
    expect(await decided(link, rule, paths)).toEqual(paths);
    expect(
      await decided(link, { prefix: path.join(root, "src"), mode: "unattended" }, paths),
    ).toEqual(paths);
    const beside = { prefix: path.join(above, "links"), mode: "unattended" } as const;
    expect(await decided(link, beside, paths)).toEqual([]);
  });
});

describe("a rule that lets calls run on a file", () => {
  test.each<Omit<RuleConfig, "arg" | "mode">>([
    { const: "src/key.ts" },
    { enum: ["src/key.ts", "./src/new"] },
    { glob: "src/*" },
    { pattern: "^src/[a-z.]+$" },
  ])("does not hold for what it is a link to: %o", async (matcher) => {
    const { root } = workspace();
    const rule = { ...matcher, mode: "unattended" } as const;
    expect(await decided(root, rule, ["src/key.ts", "src/new", "secret/key"])).toEqual([]);
  });

  test("by a glob or a pattern holds outside of the workspace only if it begins at the root", async () => {
    const { above, root } = workspace();
    const outside = ["../outside/file", path.join(above, "outside/file"), "link-out/file"];
    const within: readonly RuleConfig[] = [
      { glob: "**", mode: "unattended" },
      { glob: "**/file", mode: "unattended" },
      { pattern: "file$", mode: "unattended" },
      { pattern: "", mode: "unattended" },
    ];
    for (const rule of within) {
      expect(await decided(root, rule, [...outside, "src/file"])).toEqual(["src/file"]);
      expect(await decided(root, { ...rule, mode: "ask" }, outside)).toEqual(outside);
    }
    for (const matcher of [{ glob: `${above}/outside/*` }, { pattern: `^${above}/outside/` }])
      expect(await decided(root, { ...matcher, mode: "unattended" }, outside)).toEqual(
        outside.slice(0, 2),
      );
  });

  test("holds for that file, however it is written", async () => {
    const { root } = workspace();
    const paths = [
      "src/sub/a.ts",
      "./src//sub/a.ts",
      "src/sub/../sub/a.ts",
      `${root}/src/sub/a.ts`,
    ];
    for (const written of ["src/sub/a.ts", "./src/sub/../sub/a.ts", `${root}/src/sub/a.ts`]) {
      const rule = { const: written, mode: "unattended" } as const;
      expect(await decided(root, rule, [...paths, "src/sub/b.ts", "src/sub"])).toEqual(paths);
    }
  });
});

describe("a rule that refuses a folder", () => {
  const rule = { prefix: "secret", mode: "skip" } as const;

  test("holds for every way into it", async () => {
    counters("T-RULE-1");
    const { root } = workspace();
    const inside = [
      "secret",
      "secret/",
      "secret/key",
      "./secret/./key",
      "src/../secret/key",
      "missing/../secret/key",
      `${root}/secret/key`,
      `${root}/../shop//secret/key`,
      "secret/not/there",
      "secret/../secret/key",
      "src/to-secret/key",
      "src/to-secret",
      "src/key.ts",
      "src/new", // Whoever writes there creates secret/new.
      "src/chain",
      "src/up/secret/key",
      "src/loop/../../secret/key",
      "SECRET/key",
      "Secret/Key",
      "ſecret/key",
      "ｓecret/key",
      "se\u200bcret/key",
      "\ufeffsecret/key",
      "secret./key",
      "secret /key",
      "secret::$DATA/key",
      "src\\..\\secret\\key",
      "secret\0/key",
      "secret/key\0.txt",
      "secret\0.txt",
      "secret/\u200b/key",
      `secret/${LONG_NAME}`,
      `${"./".repeat(3000)}secret/key`,
    ];
    expect(await decided(root, rule, inside)).toEqual(inside);
  });

  test("holds for nothing else", async () => {
    const { root } = workspace();
    const others = [
      "src/sub/a.ts",
      "secrets",
      "secret-2/key",
      "lib/secret/key",
      ".env",
      "..",
      "link-out/file",
    ];
    expect(await decided(root, rule, others)).toEqual([]);
  });

  test("holds for what the folder that it names is a link to", async () => {
    const { above, root } = workspace();
    const links = { prefix: "link-out", mode: "skip" } as const;
    const paths = [
      "link-out/file",
      "../outside/file",
      path.join(above, "outside/new"),
      "src/absolute/x",
    ];
    expect(await decided(root, links, [...paths, "src/sub/a.ts"])).toEqual(paths);
    const dangling = { prefix: "src/new", mode: "skip" } as const;
    expect(await decided(root, dangling, ["secret/new", "secret/key"])).toEqual(["secret/new"]);
  });

  test("holds for the workspace, if that is in it", async () => {
    const { above, root } = workspace();
    for (const prefix of ["/", "..", above, "."]) {
      const around = { prefix, mode: "skip" } as const;
      expect(await decided(root, around, ["src/sub/a.ts", "link-in/new"])).toHaveLength(2);
    }
  });

  test("holds by its real name in a workspace that is reached by a link", async () => {
    const { above, root } = workspace();
    const link = path.join(above, "shop-link");
    symlinkSync(root, link);
    const paths = ["secret/key", `${link}/secret/key`, `${root}/secret/key`, "src/key.ts"];
    for (const prefix of ["secret", `${root}/secret`, `${link}/secret`])
      expect(await decided(link, { prefix, mode: "skip" }, paths)).toEqual(paths);
  });

  test("holds for the home, whoever writes it as a tilde", async () => {
    const { root } = workspace();
    const paths = ["~/.ssh/id", path.join(homedir(), ".ssh/id"), "~\\.ssh\\id"];
    for (const prefix of ["~/.ssh", path.join(homedir(), ".ssh")])
      expect(await decided(root, { prefix, mode: "ask" }, paths)).toEqual(paths);
    expect(await decided(root, { prefix: "~/.ssh", mode: "unattended" }, paths)).toEqual([]);
  });
});

describe("a rule that refuses files", () => {
  test.each<Omit<RuleConfig, "arg" | "mode">>([
    { const: "secret/key" },
    { const: "SECRET/KEY" },
    { const: "./secret//key" },
    { enum: ["a", "Secret/key"] },
    { glob: "secret/*" },
    { glob: "./Secret/k*" },
    { glob: "**/KEY" },
    { pattern: "(^|/)key$" },
    { pattern: "^SECRET/" },
  ])("holds by every name of theirs: %o", async (matcher) => {
    const { root } = workspace();
    const paths = ["secret/key", "src/key.ts", "secret/KEY", "Secret/key", "src/to-secret/./key"];
    expect(await decided(root, { ...matcher, mode: "ask" }, paths)).toEqual(paths);
    expect(await decided(root, { ...matcher, mode: "ask" }, ["src/sub/a.ts"])).toEqual([]);
  });

  test("holds for names that differ in their Unicode form alone", async () => {
    const { root } = workspace();
    const [composed, decomposed] = ["caf\u00e9", "cafe\u0301"];
    for (const matcher of [
      { prefix: composed },
      { const: composed },
      { glob: composed },
      { pattern: `^${composed}$` },
    ])
      expect(
        await decided(root, { ...matcher, mode: "skip" }, [composed, decomposed]),
      ).toHaveLength(2);
    for (const matcher of [
      { prefix: composed },
      { const: composed },
      { glob: composed },
      { pattern: `^${composed}$` },
    ])
      expect(
        await decided(root, { ...matcher, mode: "unattended" }, [composed, decomposed]),
      ).toEqual([composed]);
    const sharp = { prefix: "straße", mode: "skip" } as const;
    expect(await decided(root, sharp, ["STRASSE", "strasse/a", "straße"])).toHaveLength(3);
    expect(await decided(root, { prefix: "ΑΣ", mode: "skip" }, ["ασ", "ας/x"])).toHaveLength(2);
  });

  test("by an absolute glob holds for the same files as by a relative one", async () => {
    const { root } = workspace();
    const rule = { glob: `${root}/secret/**`, mode: "skip" } as const;
    expect(await decided(root, rule, ["secret/key", "src/key.ts"])).toHaveLength(2);
  });
});
