import { describe, expect, test } from "vitest";
import { ModelServer } from "./model-server.ts";
import { queryProject } from "./query-project.ts";
import { jsonLines, lines, type Project, printed } from "./support.ts";
import { Screen } from "./screen.ts";

const LOCAL = ["ollama", "llamacpp"] as const;

/** A workspace that reaches no server but this one, if any. */
async function projectWith(server?: ModelServer, more = ""): Promise<Project> {
  const closed = await ModelServer.closedUrl();
  const urls = LOCAL.map((name) => {
    const url = name === "llamacpp" ? (server?.url ?? closed) : closed;
    return `providers.llm.${name}.base_url = "${url}"`;
  });
  return queryProject({ config: [...urls, more].join("\n") });
}

describe("the list of models", () => {
  test("has the models of every available provider", async () => {
    await using server = await ModelServer.start([]);
    const openrouter = `providers.llm.openrouter.base_url = "${server.url}"`;
    const project = await projectWith(server, openrouter);
    const variables = { OPENROUTER_API_KEY: "a key" };
    expect(await project.jpWith(variables, "model", "ls")).toEqual(
      printed(lines("MODEL                CONTEXT", "llamacpp/scripted", "openrouter/scripted")),
    );
  });

  test("has the models of one provider, as text or JSON", async () => {
    await using server = await ModelServer.start([]);
    const project = await projectWith(server);
    const text = await project.jp("model", "ls", "llamacpp");
    const json = await project.jp("model", "ls", "llamacpp", "--format", "json");
    expect([text.stdout.split("\n")[1], jsonLines(json), json.status]).toEqual([
      "llamacpp/scripted",
      [{ id: "llamacpp/scripted" }],
      0,
    ]);
  });

  test("has the aliases of each model, also of models that are not listed", async () => {
    await using server = await ModelServer.start([]);
    const aliases =
      'providers.llm.aliases = { s = "llamacpp/scripted", t = "s", x = "anthropic/claude", no = "nowhere" }';
    const project = await projectWith(server, aliases);
    expect(jsonLines(await project.jp("model", "ls", "--format", "json"))).toEqual([
      { id: "llamacpp/scripted", aliases: ["s", "t"] },
      { id: "anthropic/claude", aliases: ["x"] },
    ]);
    const { stdout } = await project.jp("model", "ls", "llamacpp");
    expect(stdout.split("\n").slice(0, 2)).toEqual([
      "MODEL              ALIAS  CONTEXT",
      "llamacpp/scripted  s, t",
    ]);
  });

  test("neutralizes the names of models", async () => {
    await using server = await ModelServer.start([], ["evil\u001b[2J\nname"]);
    const project = await projectWith(server);
    const screen = new Screen(project, ["model", "ls", "llamacpp"]);
    const { status, bytes, lines: shown } = await screen.end();
    expect([status, bytes.includes("\u001b[2J"), shown.length]).toEqual([0, false, 2]);
  });

  test("is empty without providers, with a notice and status 1", async () => {
    const project = await projectWith();
    const text = await project.jp("model", "ls");
    const json = await project.jp("model", "ls", "--format", "json");
    expect([text, json]).toEqual([
      {
        status: 1,
        stdout: "",
        stderr: "No models available. Set an API key, or start a local server.\n",
      },
      { status: 1, stdout: "", stderr: "" },
    ]);
  });

  test("says which provider with a key could not be reached", async () => {
    const openai = `providers.llm.openai.base_url = "${await ModelServer.closedUrl()}"`;
    const project = await projectWith(undefined, openai);
    const { status, stderr } = await project.jpWith({ OPENAI_API_KEY: "a key" }, "model", "ls");
    expect([status, stderr.split("\n")]).toEqual([
      1,
      [
        expect.stringMatching(/^warning: openai: connection failed/),
        "No models available. Set an API key, or start a local server.",
        "",
      ],
    ]);
  });

  test("of an unavailable or unknown provider says why", async () => {
    const project = await projectWith();
    const ends = await Promise.all(
      ["llamacpp", "anthropic", "nobody"].map((name) => project.jp("model", "ls", name)),
    );
    expect(ends.map(({ status, stderr }) => [status, stderr.split("\n").slice(0, 2)])).toEqual([
      [
        1,
        [
          expect.stringMatching(/^jp: llamacpp: connection failed/),
          expect.stringMatching(/^Is llamacpp running at http:\/\/127/),
        ],
      ],
      [1, ["jp: No API key for anthropic.", "Set ANTHROPIC_API_KEY."]],
      [
        1,
        [
          'jp: Unknown provider "nobody".',
          "Use one of anthropic, google, llamacpp, ollama, openai, openrouter.",
        ],
      ],
    ]);
  });

  test("needs no workspace and writes nothing", async () => {
    await using server = await ModelServer.start([]);
    const project = await projectWith(server);
    const url = `providers.llm.llamacpp.base_url=${server.url}`;
    const finished = await project.jp("--workspace", "/", "model", "ls", "llamacpp", "-c", url);
    expect([finished.status, finished.stdout.split("\n")[1]]).toEqual([0, "llamacpp/scripted"]);
  });
});

test("a model that the server does not know does not stick to a conversation", async () => {
  await using server = await ModelServer.start(
    ({ model }) => (model === "gone" ? { status: 404 } : `I am ${model}.`),
    ["scripted", "other", "gone"],
  );
  const project = queryProject({ server });
  const ask = async (...words: readonly string[]) => (await project.jp("query", ...words)).stdout;
  const failed = await project.jp("query", "-m", "openrouter/typo", "Hello");
  expect(failed.status).toBe(1);
  expect(await ask("Hello")).toBe("I am scripted.\n");
  const { stderr } = await project.jp("query", "-m", "llamacpp/gone", "Hello");
  expect(stderr).toContain("This conversation keeps using llamacpp/scripted.");
  expect(await ask("--discard-turn", "Hello")).toBe("I am scripted.\n");
  expect(await ask("-m", "llamacpp/other", "Hello")).toBe("I am other.\n");
  expect(await ask("Hello")).toBe("I am other.\n");
});

describe("a mistyped model of a local server, which may take any name,", () => {
  test("is refused if the server lists its models", async () => {
    await using server = await ModelServer.start(({ model }) => `I am ${model}.`);
    const project = queryProject({
      server,
      config: 'providers.llm.aliases.any = "llamacpp/scripte"',
    });
    expect(await project.jp("query", "-m", "llamacpp/scriptd", "Hello")).toEqual({
      status: 1,
      stdout: "",
      stderr: "jp: llamacpp does not list the model scriptd.\nDid you mean llamacpp/scripted?\n",
    });
    expect(server.requests).toEqual([]);
    // A name of the config, for the only model of the server, or of a similar one, is not a mistake.
    const meant = ["any", "llamacpp/default", "llamacpp/scripted2", "llamacpp/scriptes"].map(
      async (name) => (await project.jp("query", "-n", "-m", name, "Hello")).stdout,
    );
    expect(await Promise.all(meant)).toEqual([
      "I am scripte.\n",
      "I am default.\n",
      "I am scripted2.\n",
      "I am scriptes.\n",
    ]);
  });

  test("is remembered only once it has replied, if the server lists none", async () => {
    let isBusy = true;
    await using server = await ModelServer.start(
      ({ model }) => (isBusy && model === "new" ? { status: 400 } : `I am ${model}.`),
      [],
    );
    const project = queryProject({ server });
    const ask = (...words: readonly string[]) => project.jp("query", ...words);
    await ask("Hello");
    const { stderr } = await ask("-m", "llamacpp/new", "Hello");
    expect(stderr).toContain("This conversation keeps using llamacpp/scripted.");
    expect((await ask("--discard-turn", "Hello")).stdout).toBe("I am scripted.\n");
    isBusy = false;
    expect((await ask("-m", "llamacpp/new", "Hello")).stdout).toBe("I am new.\n");
    expect((await ask("Hello")).stdout).toBe("I am new.\n");
  });
});
