/** Generators of config as a person may write it in a file: every shorthand, any layer. */
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../util/index.ts";
import { parseConfig, parseConfigOrThrow, type PartialConfig } from "./index.ts";

/** Part of every configured answer, so that a test can check where it must not appear. */
export const SECRET = "hunter2";

/** Keys that are known but not supported are still read, as from a file. Throws for anything else. */
export function readConfig(raw: unknown): PartialConfig {
  const { config, errors, warnings } = parseConfig(raw);
  const isUnexpected = warnings.some(({ message }) => !message.startsWith("not supported"));
  return errors.length > 0 || isUnexpected ? parseConfigOrThrow("a test", raw) : config;
}

/** A layer that configures the tool `x`. */
export function ofTool(tool: Json, name = "x"): JsonObject {
  return { conversation: { tools: { [name]: tool } } };
}

export function anyConfig(): fc.Arbitrary<JsonObject> {
  const config = some({
    assistant: assistant(),
    conversation: some({
      tools: tools(),
      attachments: list(fc.oneof(word(), fc.record({ type: word(), path: word() }))),
      start_local: fc.boolean(),
      mode: fc.constantFrom("ask", "plan", "edits", "sandbox"),
      inquiry: some({ assistant: assistant(), schema: fc.constantFrom("stable", "bound") }),
    }),
    user: some({ name: word() }),
    editor: some({ envs: fc.array(word(), { maxLength: 2 }) }),
    providers: some({
      llm: some({ aliases: fc.dictionary(word(), modelId(), { maxKeys: 2 }) }),
      mcp: fc.dictionary(word(), some({ command: word(), optional: fc.boolean() }), { maxKeys: 2 }),
    }),
  });
  // JSON has no negative zero, and only plain objects.
  return config.map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
}

function tools(): fc.Arbitrary<unknown> {
  const mode = fc.constantFrom("auto", "defaults", "deny");
  const shared = {
    enable: fc.oneof(
      fc.boolean(),
      fc.constantFrom("on", "off", "always", "explicit"),
      some({ state: fc.boolean(), allow_toggle: fc.constantFrom("any", "if_named", "never") }),
    ),
    run: runMode(),
    policy: some({ run: policy(), result: policy() }),
    detached: fc.oneof(mode, some({ run: mode, deliver: mode, tool: mode })),
    timeout_secs: fc.integer({ min: 1 }),
    style: some({
      hidden: fc.boolean(),
      inline_results: fc.oneof(fc.boolean(), fc.constantFrom("off", "full"), fc.nat()),
    }),
  };
  const tool = some({
    ...shared,
    source: fc.constantFrom("local", "builtin", "mcp.server.tool"),
    command: fc.oneof(
      fc.constantFrom("just run", "'a b' c\\ d"),
      some({ args: fc.array(word(), { maxLength: 2 }), shell: fc.boolean() }).map((rest) => ({
        program: "just",
        ...rest,
      })),
    ),
    parameters: fc.dictionary(
      word(),
      some({ type: word(), default: json(), minLength: fc.nat() }),
      {
        maxKeys: 2,
      },
    ),
    questions: fc.dictionary(word(), question(), { maxKeys: 2 }),
    options: fc.dictionary(word(), json(), { maxKeys: 2 }),
    effect: fc.constantFrom("reads", "edits", "destroys"),
    subject_ignore: fc.array(word(), { maxLength: 2 }),
  });
  return fc.record(
    { "*": some(shared), x: tool, fs_read_file: tool, "my.tool": tool },
    { requiredKeys: [] },
  );
}

function runMode(): fc.Arbitrary<string> {
  return fc.constantFrom("ask", "unattended", "edit", "skip");
}

function policy(): fc.Arbitrary<unknown> {
  const matcher = fc.oneof(
    fc.record({ const: json() }),
    fc.record({ enum: fc.array(json(), { minLength: 1, maxLength: 2 }) }),
    fc.record({ pattern: word() }),
    fc.record({ prefix: word() }),
    fc.record({ glob: word() }),
    fc.record({ minimum: fc.integer() }),
    fc.record({ exclusive_maximum: fc.integer() }),
  );
  const condition = fc.tuple(matcher, fc.constantFrom("", "/path", "/a~1b/c"));
  const scope = some({
    tool: word(),
    server: word(),
    questions: fc.array(word(), { maxLength: 1 }),
  });
  const rule = fc
    .tuple(fc.record({ mode: runMode() }), scope, fc.option(condition, { nil: undefined }))
    .map(([mode, names, found]) => ({
      ...mode,
      ...names,
      ...found?.[0],
      ...(found && { arg: found[1] }),
    }));
  return fc.oneof(runMode(), fc.array(rule, { maxLength: 2 }));
}

function question(): fc.Arbitrary<unknown> {
  return some({
    target: fc.oneof(
      fc.constantFrom<Json>("user", "assistant", { user: "ada" }, ["assistant", { user: "ada" }]),
      fc.constant<Json>([
        { user: "ada", within: "2h" },
        { role: "finance", within: "1d" },
        "assistant",
      ]),
      assistant(),
    ),
    answer: fc.constantFrom<Json>(SECRET, { nested: SECRET }, [SECRET]),
    exclusive: fc.boolean(),
    prompt_label: word(),
  });
}

function assistant(): fc.Arbitrary<unknown> {
  return some({
    name: word(),
    system_prompt: fc.oneof(word(), wrapped(word())),
    instructions: list(some({ title: word(), items: fc.array(word(), { maxLength: 2 }) })),
    model: some({
      id: modelId(),
      parameters: some({
        max_tokens: fc.nat(),
        reasoning: fc.oneof(fc.boolean(), fc.constant("high"), some({ exclude: fc.boolean() })),
        not_known_here: json(),
      }),
    }),
    request: some({ max_retries: fc.nat(), cache: fc.oneof(fc.boolean(), fc.constant("long")) }),
  });
}

function modelId(): fc.Arbitrary<Json> {
  return fc.oneof(
    word(),
    fc.tuple(word(), word()).map((parts) => parts.join("/")),
    fc.record({ provider: word(), name: word() }),
  );
}

function list(item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const items = fc.array(item, { maxLength: 3 });
  return fc.oneof(items, wrapped(items));
}

function wrapped(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const strategy = fc.constantFrom("append", "prepend", "replace");
  return fc.record({ value, strategy }, { requiredKeys: ["value"] });
}

/** Every key is optional. */
function some(of: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  return fc.record(of, { requiredKeys: [] });
}

function word(): fc.Arbitrary<string> {
  return fc.constantFrom("a", "b", "c_d", "e-f", "ä", "toString");
}

function json(): fc.Arbitrary<unknown> {
  return fc.oneof(fc.constantFrom(null, false, 0, "", {}), fc.jsonValue({ maxDepth: 2 }));
}
