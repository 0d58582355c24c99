/** `providers`: where models are reached, and which MCP servers there are. */
import * as v from "valibot";
import { behaviour } from "./behaviour.ts";
import { modelIdSchema } from "./model-id.ts";
import { atLeast, described, group, namedBy, table } from "./node.ts";

const place = v.pipe(v.string(), behaviour({ isOfMachine: true }));
const baseUrl = described("where it is reached", place);
const keyName = described("the environment variable that holds its key", place);

const hosted = { base_url: baseUrl, api_key_env: keyName };

const llm = group({
  aliases: described("short names for models", namedBy(modelIdSchema)),
  anthropic: group({
    ...hosted,
    chain_on_max_tokens: described("go on by itself when a reply reaches its limit", v.boolean()),
    beta_headers: described("beta features to ask for", v.array(v.string())),
  }),
  google: group(hosted),
  openai: group({
    ...hosted,
    base_url_env: described("the environment variable that says where it is reached", place),
  }),
  openrouter: group({
    ...hosted,
    app_name: described("the name it is told", v.string()),
    app_referrer: described("the address it is told", v.string()),
  }),
  ollama: group({ base_url: baseUrl }),
  llamacpp: group({ base_url: baseUrl }),
});

const mcpServer = group({
  type: described("stdio (a program to start) or http", v.picklist(["stdio", "http"])),
  command: described("the program of a stdio server", v.string()),
  arguments: described("its arguments", v.array(v.string())),
  variables: described("the environment variables it gets to see", v.array(v.string())),
  checksum: described(
    "what the program's file must be",
    table(v.object({ algorithm: v.picklist(["sha1", "sha256"]), value: v.string() })),
  ),
  url: described("the address of an http server", v.string()),
  headers: described(
    "headers for an http server; $NAME is taken from the environment",
    // They may hold a token.
    namedBy(v.pipe(v.string(), behaviour({ isPrivate: true }))),
  ),
  optional: described("go on without it if it does not start", v.boolean()),
  allow_secrets: described("let its forms ask for passwords and the like", v.boolean()),
  allow_sampling: described("let it put prompts of its own to the inquiry model", v.boolean()),
  startup_timeout_secs: described("how long it may take to start; 0 for no limit", atLeast(0)),
});

export const providersSchema = group({
  llm,
  mcp: described(
    "MCP servers by name",
    v.pipe(namedBy(mcpServer), behaviour({ isOfMachine: true })),
  ),
});
