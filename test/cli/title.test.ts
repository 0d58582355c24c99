import { expect, test } from "vitest";
import { ModelServer, type ChatBody } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf } from "./query-project.ts";

const AUTO = "conversation.title.generate.auto = true";

function isForTitle({ messages }: ChatBody): boolean {
  return JSON.stringify(messages[0]?.content).startsWith('"Write a title');
}

test("a new conversation gets the title that a model writes, and is asked for it once", async () => {
  await using server = await ModelServer.start((body) =>
    isForTitle(body) ? '{"titles":[" Greetings "]}' : "Hi.",
  );
  const project = queryProject({ server, config: AUTO });
  const { stdout, stderr } = await query(project, ["Hello"]);
  await query(project, ["And?"]);
  expect([stdout, stderr, recordOf(project).title]).toEqual(["Hi.\n", "", "Greetings"]);
  const [asked, ...others] = server.requests.filter(isForTitle);
  expect([asked?.messages.length, asked?.["tools"], others]).toEqual([2, undefined, []]);
});

test("the tokens of the title are recorded", async () => {
  await using server = await ModelServer.start((body) =>
    isForTitle(body)
      ? { text: '{"titles":["Greetings"]}', usage: { prompt_tokens: 7, completion_tokens: 3 } }
      : "Hi.",
  );
  const project = queryProject({ server, config: AUTO });
  await query(project, ["Hello"]);
  const spent = entriesOf(recordOf(project), "token_usage");
  const titles = spent.filter(({ purpose }) => purpose === "title");
  expect(titles).toMatchObject([{ input: 7, output: 3 }]);
});

test("the title is asked of the model that the config names, which alone is enough to ask", async () => {
  await using server = await ModelServer.start((body) =>
    isForTitle(body) ? '{"titles":["T"]}' : "Hi.",
  );
  const config =
    'conversation.title.generate.model = { id = "llamacpp/small", parameters = { temperature = 0.25 } }';
  await query(queryProject({ server, config }), ["Hello"]);
  expect(server.requests.find(isForTitle)).toMatchObject({ model: "small", temperature: 0.25 });
});

test.each([
  ["by default", "", []],
  [
    "if it is switched off",
    'conversation.title.generate = { auto = false, model = { id = "llamacpp/small" } }',
    [],
  ],
  ["with --title", AUTO, ["--title", "Mine"]],
  ["with --no-persist", AUTO, ["--no-persist"]],
])("no model is asked for a title %s", async (_when, config, words) => {
  await using server = await ModelServer.start(["Hi."]);
  await query(queryProject({ server, config }), [...words, "Hello"]);
  expect(server.requests).toHaveLength(1);
});

test("a title that fails, is no title or takes too long changes nothing", async () => {
  for (const reply of [{ status: 500 }, "no JSON", '{"titles":[]}', { text: "{", hangs: true }]) {
    await using server = await ModelServer.start((body) => (isForTitle(body) ? reply : "Hi."));
    const project = queryProject({ server, config: AUTO });
    const { status, stderr } = await query(project, ["Hello"]);
    expect([status, stderr, recordOf(project).title]).toEqual([0, "", "Hello"]);
  }
});

test("no title is waited for if the turn fails", async () => {
  const { promise: isAsked, resolve } = Promise.withResolvers<void>();
  await using server = await ModelServer.start((body) => {
    if (!isForTitle(body)) return { text: "Half", after: isAsked, isCut: true };
    resolve();
    return { text: "{", hangs: true };
  });
  const config = `${AUTO}\nassistant.request.max_retries = 0`;
  const { status } = await query(queryProject({ server, config }), ["Hello"]);
  await Promise.all(server.ended); // The request for the title never ends by itself.
  expect([status, server.requests.filter(isForTitle).length]).toEqual([1, 1]);
});

test.each([
  ["# The parser #\n\nIt fails.", "The parser"],
  ["The parser\n===\nIt fails.", "The parser"],
  ["#42 fails", "#42 fails"],
])("a message that starts with a heading has that as its title: %j", async (message, title) => {
  await using server = await ModelServer.start((body) =>
    isForTitle(body) ? '{"titles":["Generated"]}' : "Hi.",
  );
  const project = queryProject({ server });
  await query(project, [message]);
  expect(recordOf(project).title).toBe(title);
});

test("a heading is enough of a title, unless the config says otherwise", async () => {
  await using server = await ModelServer.start((body) =>
    isForTitle(body) ? '{"titles":["Generated"]}' : "Hi.",
  );
  const titles = [];
  for (const fromHeading of ["true", "false"]) {
    const config = `${AUTO}\nconversation.title.from_heading = ${fromHeading}`;
    const project = queryProject({ server, config });
    await query(project, ["# The parser\nIt fails."]);
    titles.push(recordOf(project).title);
  }
  expect(titles).toEqual(["The parser", "Generated"]);
});
