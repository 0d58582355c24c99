/**
 * `conversation.attachments`: the addresses of a conversation's attachments. The schemes and their notation are those of
 * the Rust original. Nothing here reads files or connects to hosts.
 */
import { JpError } from "../../util/index.ts";
import { mergeConfig } from "./layers.ts";
import { splitWords } from "./split-words.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** The source that an address names. */
export type AttachmentSource =
  | {
      readonly type: "file";
      /** A file, a folder or a pattern, relative to the root of the workspace, with forward slashes. */
      readonly path: string;
      /** Its matches are left out of folders and patterns. */
      readonly isExcluded: boolean;
    }
  | { readonly type: "page"; readonly url: string }
  | {
      readonly type: "command";
      readonly program: string;
      readonly args: readonly string[];
      readonly description?: string;
    }
  /** A resource of an MCP server. */
  | { readonly type: "resource"; readonly server: string; readonly uri: string };

type AttachmentConfig = NonNullable<
  NonNullable<PartialConfig["conversation"]>["attachments"]
>["value"][number];

/** The addresses of a config in order, without duplicates. */
export function resolveAttachments(config: PartialConfig): readonly string[] {
  return [...new Set((config.conversation?.attachments?.value ?? []).map(attachmentUri))];
}

/** Appends these to the config's attachments. */
export function withAttachments(config: PartialConfig, uris: readonly string[]): PartialConfig {
  const known = new Set(resolveAttachments(config));
  const added = uris.filter((uri) => !known.has(uri));
  return added.length === 0 ? config : setAttachments(config, [...entriesOf(config), ...added]);
}

/** Removes these from the config. Returns it unchanged if it has none of them. */
export function withoutAttachments(config: PartialConfig, uris: readonly string[]): PartialConfig {
  const entries = entriesOf(config);
  const left = entries.filter((entry) => !uris.includes(attachmentUri(entry)));
  return left.length === entries.length ? config : setAttachments(config, left);
}

function entriesOf(config: PartialConfig): readonly AttachmentConfig[] {
  return config.conversation?.attachments?.value ?? [];
}

function setAttachments(
  config: PartialConfig,
  entries: readonly AttachmentConfig[],
): PartialConfig {
  const value = entries.filter(
    (entry, index) =>
      entries.findIndex((other) => attachmentUri(other) === attachmentUri(entry)) === index,
  );
  return mergeConfig(config, { conversation: { attachments: { value, strategy: "replace" } } });
}

/** The address of an entry, which may be a table of its parts, or a path. */
export function attachmentUri(entry: AttachmentConfig): string {
  if (typeof entry === "string") return schemeOf(entry) === undefined ? fileUri(entry) : entry;
  const { type, path, params = {} } = entry;
  const pairs = Object.entries(params).flatMap(([key, given]) =>
    (typeof given === "string" ? [given] : given).map((value): [string, string] => [key, value]),
  );
  const query = new URLSearchParams(pairs).toString();
  return `${type}://${path}${query === "" ? "" : `?${query}`}`;
}

/** The address of a path relative to the root of the workspace. */
export function fileUri(path: string, isExcluded = false): string {
  const url = new URL("file:///");
  url.pathname = path.replaceAll("%", "%25").replaceAll("\\", "%5C");
  if (isExcluded) url.search = "exclude=true";
  return url.href;
}

/** In lower case. Undefined for a path; a single letter is a Windows drive. */
export function schemeOf(text: string): string | undefined {
  return /^([a-z][\w+.-]+):/i.exec(text)?.[1]?.toLowerCase();
}

/** Throws `invalid_attachment`. */
export function parseAttachment(uri: string): AttachmentSource {
  const scheme = schemeOf(uri) ?? "";
  const rest = uri.slice(scheme.length + 1);
  switch (scheme.split("+", 1)[0]) {
    case "file":
      return parseFile(rest);
    case "http":
    case "https":
      return parsePage(uri);
    case "cmd":
      return rest.startsWith("//") ? parseCommandUrl(uri) : parseCommandLine(uri, rest);
    case "mcp":
      return parseResource(uri, rest);
    case "jp":
      throw invalid(uri, "jp attaches no conversations by address", conversationHint(rest));
    default:
      throw invalid(uri, `unknown scheme "${scheme}:"`, SCHEMES_HINT);
  }
}

/** Undefined if jp cannot attach it. */
export function findAttachment(uri: string): AttachmentSource | undefined {
  try {
    return parseAttachment(uri);
  } catch {
    return undefined;
  }
}

/** The hint for a conversation, as the Rust original names it: `jp://jp-c123?select=a:-1`, or without the scheme. */
export function conversationHint(name: string): string | undefined {
  const [, id] = /^(?:\/\/)?(jp-c\d+)(?:\?|$)/.exec(name) ?? [];
  return (
    id && `Attach what it prints: 'cmd:jp conversation print ${id}', with --last 1 for its end.`
  );
}

const SCHEMES_HINT =
  "Attach a path, https://…, cmd:<command>, or an MCP resource: mcp+<server>+<its address>.";

function invalid(uri: string, reason: string, hint?: string): JpError {
  const message = `Cannot attach ${JSON.stringify(uri)}: ${reason}.`;
  return new JpError("invalid_attachment", message, hint === undefined ? {} : { hint });
}

/** `file:a/b`, `file:/a/b`, `file://a/b` and `file:///a/b` all name `a/b` in the workspace. */
function parseFile(rest: string): AttachmentSource {
  const [address = "", query = ""] = rest.split(/[?#]/);
  const path = address.replace(/^\/+/, "").split("/").map(decode).join("/") || ".";
  return { type: "file", path, isExcluded: new URLSearchParams(query).has("exclude") };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parsePage(uri: string): AttachmentSource {
  const url = URL.parse(uri);
  if (url === null) throw invalid(uri, "it is not a valid URL");
  if (url.username !== "" || url.password !== "") {
    const reason = "it contains a password, which would be stored with the conversation";
    throw new JpError("invalid_attachment", `Cannot attach ${url.host}: ${reason}.`);
  }
  return { type: "page", url: url.href };
}

const ARGUMENT_KEYS = new Set(["arg", "args", "arg[]", "args[]"]);

/** `cmd://git?arg=diff&arg=--cached`. */
function parseCommandUrl(uri: string): AttachmentSource {
  const [program = "", query = ""] = uri.replace(/^cmd:\/\//i, "").split("?", 2);
  if (program === "") throw invalid(uri, "it names no command");
  const pairs = [...new URLSearchParams(query)];
  const args = pairs.flatMap(([key, value]) => (ARGUMENT_KEYS.has(key) ? [value] : []));
  return { type: "command", program: decode(program), args, ...descriptionIn(pairs) };
}

/** `cmd:git diff --cached`. Words are split as in a shell; no shell runs them. */
function parseCommandLine(uri: string, rest: string): AttachmentSource {
  const [, line = rest, query = ""] = /^(.*)\?(description=[^ ]*)$/s.exec(rest) ?? [];
  const [program, ...args] = splitWords(line) ?? [];
  if (program === undefined) {
    throw invalid(uri, line.trim() === "" ? "it names no command" : "it has an unclosed quote");
  }
  return { type: "command", program, args, ...descriptionIn([...new URLSearchParams(query)]) };
}

function descriptionIn(pairs: readonly (readonly [string, string])[]): {
  readonly description?: string;
} {
  const [, description] = pairs.find(([key]) => key === "description") ?? [];
  return description === undefined ? {} : { description };
}

/** `mcp+<server>+<scheme>:…`: the resource `<scheme>:…` of that server. */
function parseResource(uri: string, rest: string): AttachmentSource {
  const [, server, scheme] = /^mcp\+(.+)\+([^+]+)$/i.exec(uri.slice(0, -rest.length - 1)) ?? [];
  if (server === undefined || scheme === undefined) {
    throw invalid(uri, "it does not name a server and a resource", SCHEMES_HINT);
  }
  return { type: "resource", server, uri: `${scheme}:${rest}` };
}

/** Files that commonly contain passwords and keys. */
const SECRET_FILE =
  /^(?:\.env(?:[._-].+)?|\.envrc|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.htpasswd|\.git-credentials|\.vault-token|\.dockercfg|\.\w+_history|id_(?:rsa|dsa|ecdsa|ed25519)|credentials(?:\..+)?|secrets?\.(?:json|toml|ya?ml|env)|.+\.(?:env|pem|key|p12|pfx|jks|keystore|kdbx))$/i;
const SECRET_FOLDER = /^\.(?:ssh|aws|gnupg|kube|docker|azure)$/i;
/** Folders with the logins of tools, and system files that expose the environment of processes. */
const SECRET_PLACE = /(?:^|\/)\.config\/(?:gh|gcloud|hub)\/|^\/(?:proc|sys|dev)\//i;
/** Example files are meant to be shared. */
const EXAMPLE = /[._-](?:example|sample|template|dist)$/i;

/** Whether a path looks like a file with passwords or keys. */
export function namesSecretFile(path: string): boolean {
  const names = path.split(/[/\\]/);
  const name = names.at(-1) ?? "";
  if (names.slice(0, -1).some((folder) => SECRET_FOLDER.test(folder))) return true;
  if (SECRET_PLACE.test(names.join("/"))) return true;
  return SECRET_FILE.test(name) && !EXAMPLE.test(name);
}

/** Whether jp may read an address that a workspace names itself: ordinary files of that workspace. */
export function isHarmlessAttachment(uri: string): boolean {
  const source = findAttachment(uri);
  return source?.type === "file" && (source.isExcluded || !namesSecretFile(source.path));
}
