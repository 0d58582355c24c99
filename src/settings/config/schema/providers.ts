/** Schema of `providers`: the addresses of models, and the MCP servers. */
import * as v from "valibot";
import { modelIdSchema } from "./model-id-schema.ts";
import {
  atLeast,
  behaviour,
  described,
  group,
  key,
  namedBy,
  openGroup,
  trust,
  unsupported,
  wholeNumber,
} from "./node.ts";

const address = v.pipe(v.string(), behaviour({ isMachineSpecific: true }));
const baseUrl = key("address", "address of the API", address);
const withKey = {
  base_url: baseUrl,
  api_key_env: key("always", "environment variable that holds the API key", address),
};

const NO_PROVIDER =
  "jp has no such provider; its models are at openrouter, or at openai with another base_url";

const llm = group({
  aliases: described("short names for models", namedBy(v.pipe(modelIdSchema, trust("alias")))),
  anthropic: group({
    ...withKey,
    chain_on_max_tokens: key(
      "harmless",
      "continue automatically when a reply reaches max_tokens",
      v.boolean(),
    ),
    beta_headers: key("harmless", "beta features to enable", v.array(v.string())),
  }),
  google: group(withKey),
  openai: group({
    ...withKey,
    base_url_env: key("always", "environment variable that holds the address of the API", address),
  }),
  openrouter: group({
    ...withKey,
    app_name: key("harmless", "your app's name, sent to OpenRouter", v.string()),
    app_referrer: key("harmless", "your app's URL, sent to OpenRouter", v.string()),
  }),
  ollama: group({ base_url: baseUrl }),
  llamacpp: group(withKey),
  deepseek: unsupported(NO_PROVIDER, openGroup({})),
  cerebras: unsupported(NO_PROVIDER, openGroup({})),
});

const mcpServer = group({
  type: key("always", "stdio (a program to start) or http", v.picklist(["stdio", "http"])),
  command: key("always", "program of a stdio server", v.string()),
  arguments: key(
    "always",
    "arguments of the program",
    v.pipe(v.array(v.string()), behaviour({ synonyms: ["args"] })),
  ),
  variables: key(
    "always",
    "environment variables to pass to the program",
    v.pipe(v.array(v.string()), behaviour({ synonyms: ["env"] })),
  ),
  checksum: key(
    "always",
    "expected checksum of the program's file",
    v.object({ algorithm: v.picklist(["sha1", "sha256"]), value: v.string() }),
  ),
  url: key("always", "address of an http server", v.string()),
  headers: key(
    "always",
    "headers for an http server; $NAME is taken from the environment",
    // They may contain a token.
    namedBy(v.pipe(v.string(), behaviour({ isPrivate: true }))),
  ),
  oauth: group({
    authorization_server: key(
      "always",
      "address of the only authorization server to log in at",
      v.string(),
    ),
    client_id: key("always", "id that jp has at the authorization server", v.string()),
    scopes: key(
      "always",
      "what a login asks for, besides what the server names",
      v.array(v.string()),
    ),
    redirect_port: key(
      "always",
      "port of the redirect address that the client was registered with",
      wholeNumber({ min: 1024, max: 65_535 }),
    ),
  }),
  all_tools: key(
    "always",
    "offer all its tools to the model, without an entry for each; true, or a prefix for their names",
    v.union([
      v.boolean(),
      v.pipe(v.string(), v.regex(/^[\w-]{0,32}$/, "expected letters, digits, - and _")),
    ]),
  ),
  optional: key("harmless", "only a warning of `jp doctor` if it does not start", v.boolean()),
  allow_secrets: key("always", "let its forms ask for passwords and other secrets", v.boolean()),
  allow_sampling: key("always", "let it send its own prompts to the inquiry model", v.boolean()),
  startup_timeout_secs: key("harmless", "maximum seconds to start; 0 for no limit", atLeast(0)),
});

export const providersSchema = group({
  llm,
  mcp: described(
    "MCP servers by name",
    v.pipe(namedBy(mcpServer), behaviour({ isMachineSpecific: true })),
  ),
});
