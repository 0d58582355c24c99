import { cpSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { runCommand } from "../support/command-host.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject } from "./query-project.ts";
import { time } from "./records.ts";
import { jsonLines, lines, Project } from "./support.ts";

function spent(second: number, model: string, counts: object) {
  return { timestamp: time(second), type: "token_usage", model, purpose: "reply", ...counts };
}

function placeUsage(project: Project) {
  const events = [
    spent(10, "a/big", { input: 1_200_000, cached_input: 1_000_000, output: 20_000 }),
    spent(20, "b/small", { input: 900, output: 30, reasoning: 10 }),
  ];
  return project.place({ second: 0, title: "Birds", config: {}, events });
}

const PRICES = [
  "usage.currency=EUR",
  'usage.prices:={"a/big":{"input":2,"cached_input":0.2,"output":10}}',
];
const WITH_PRICES = PRICES.flatMap((setting) => ["--cfg", setting]);

describe("jp usage", () => {
  test("shows tokens by model, and no cost without a price", async () => {
    const project = new Project();
    placeUsage(project);
    const { stdout } = await project.jp("usage");
    expect(stdout).toBe(
      lines(
        "MODEL    INPUT  CACHED  OUTPUT  REASONING  REQUESTS",
        "a/big    1.20M   1.00M   20.0k          0         1",
        "b/small    900       0      30         10         1",
        "total    1.20M   1.00M   20.0k         10         2",
      ),
    );
  });

  test("shows costs by the prices of the config, within 60 columns", async () => {
    const project = new Project();
    placeUsage(project);
    const { stdout, stderr } = await project.jp("--width", "60", "usage", ...WITH_PRICES);
    expect(stdout.split("\n").every((line) => line.length <= 60)).toBe(true);
    expect(stdout).toContain("a/big     0.8000 EUR  1.20M");
    expect(stdout).toContain("total    0.8000+ EUR");
    expect(stderr).toBe(
      lines(
        "Prices from your config: a/big",
        "No price known in EUR; set usage.prices in the config:",
        "b/small",
      ),
    );
  });

  test("shows costs of common models by jp's table, with its date, and where prices come from", async () => {
    const project = new Project();
    const sonnet = "anthropic/claude-sonnet-4-5-20250929";
    const events = [
      spent(10, sonnet, { input: 100_000, output: 10_000 }),
      spent(20, "a/big", { input: 1_000_000, output: 0 }),
      spent(30, "openrouter/x", { input: 900, output: 30, cost: 0.25 }),
      spent(40, "ollama/own", { input: 900, output: 30 }),
    ];
    const { id } = project.place({ second: 0, config: {}, events });
    const priced = ["--cfg", 'usage.prices:={"a/big":{"input":2}}'];
    const { stdout, stderr } = await project.jp("--width", "100", "usage", ...priced);
    expect([stdout, stderr]).toEqual([
      expect.stringMatching(/sonnet-4-5-20250929 +0\.4500 USD[^]*total +2\.70\+ USD/),
      expect.stringMatching(
        new RegExp(
          [
            "^Prices from your config: a/big",
            String.raw`Prices of \d{4}-\d\d-\d\d, from jp's table: ${sonnet}`,
            "Costs reported by the provider: openrouter/x",
            "No price known; set usage.prices in the config: ollama/own\n$",
          ].join("\n"),
        ),
      ),
    ]);
    const json = jsonLines(await project.jp("usage", "--format", "json", ...priced));
    expect(json).toEqual([
      expect.objectContaining({ model: "a/big", cost: 2, price_sources: ["config"] }),
      expect.objectContaining({
        model: sonnet,
        price_sources: ["table"],
        prices_of: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as unknown,
      }),
      expect.objectContaining({ model: "ollama/own", price_sources: ["unknown"] }),
      expect.objectContaining({ model: "openrouter/x", price_sources: ["provider"] }),
    ]);
    const shown = await project.jp("conversation", "show", id);
    expect(shown.stdout).toMatch(
      /^Prices +table of \d{4}-\d\d-\d\d \(anthropic\/[^)]*\), provider \(openrouter\/x\), unknown \(/m,
    );
  });

  test("is JSON, one total per line", async () => {
    const project = new Project();
    const { id } = placeUsage(project);
    const result = await project.jp("usage", "--by", "conversation", "--format", "json");
    expect(jsonLines(result)).toEqual([
      {
        conversation: id,
        requests: 2,
        input: 1_200_900,
        cached_input: 1_000_000,
        output: 20_030,
        reasoning: 10,
      },
    ]);
  });

  test("has costs in JSON without the noise of sums", async () => {
    const project = new Project();
    placeUsage(project);
    const prices = [
      "--cfg",
      "usage.prices.a/big.input:=0.1",
      "--cfg",
      "usage.prices.b/small.input:=3",
    ];
    const words = ["usage", "--by", "day", "--format", "json"];
    const [total] = jsonLines(await project.jp(...words, ...prices));
    expect(JSON.stringify(total)).toMatch(/"cost":0\.\d{1,9},/);
  });

  test("counts what is in the period only", async () => {
    const project = new Project();
    placeUsage(project);
    const { stdout, stderr } = await project.jp("usage", "--from", "12h");
    expect([stdout, stderr]).toEqual(["", lines("No usage recorded.")]);
    const all = await project.jp("usage", "--from", "7d", "--until", "12h", "--by", "day");
    expect(all.stdout).toContain(" 2\n");
  });

  test("refuses a time that it cannot read", async () => {
    const { status, stderr } = await new Project().jp("usage", "--from", "lately");
    expect([status, stderr]).toEqual([2, expect.stringContaining("Not a time: lately")]);
  });

  test("includes other workspaces with --all, and each conversation once", async () => {
    const usage = { prompt_tokens: 70, completion_tokens: 7, total_tokens: 77 };
    await using server = await ModelServer.start(() => ({ text: "Fine.", usage }));
    const project = queryProject({ server });
    await query(project, ["In both", "-n"]);
    const clone = path.join(path.dirname(project.root), "clone");
    cpSync(project.root, clone, { recursive: true });
    await query(project, ["Only in the first", "-n"]);
    const { variables } = project;
    const words = ["usage", "--all", "--format", "json"];
    expect(jsonLines(await runCommand(words, { cwd: clone, variables }))).toEqual([
      {
        model: "llamacpp/scripted",
        requests: 2,
        input: 140,
        output: 14,
        price_sources: ["unknown"],
      },
    ]);
  });
});

test("jp conversation show says what the conversation took", async () => {
  const project = new Project();
  const { id } = placeUsage(project);
  const { stdout } = await project.jp("conversation", "show", id);
  expect(stdout).toContain(
    "Tokens      1,200,900 in (1,000,000 cached), 20,030 out (10 reasoning)\n",
  );
});
