/** Model ids: `provider/name`, the same in two fields, or an alias. */
import { findClosest, JpError } from "../../util/index.ts";

/** Names a model by provider and name, or by an alias. */
export type ModelId =
  | { readonly provider: string; readonly name: string }
  /** Looked up in `providers.llm.aliases`. */
  | { readonly alias: string };

/** Reads `provider/name`; a text without a slash is an alias. */
export function parseModelId(text: string): ModelId {
  const [provider = "", ...name] = text.split("/");
  if (name.length === 0) return { alias: text };
  return { provider, name: name.join("/") };
}

export type ResolvedModelId = Extract<ModelId, { readonly provider: string }>;

type Aliases = Readonly<Record<string, ModelId>>;

/** Follows aliases to a provider. Throws `no_model`, `unknown_model_alias`, `model_alias_cycle`. */
export function resolveModelId(id: ModelId | undefined, aliases: Aliases): ResolvedModelId {
  if (id === undefined) {
    throw new JpError("no_model", "No model configured.", {
      commandHint:
        "Set one with `jp config set assistant.model.id provider/name`, or name it with -m.",
    });
  }
  const followed: string[] = [];
  let current = id;
  while ("alias" in current) {
    const { alias } = current;
    if (followed.includes(alias)) throw aliasCycleError([...followed, alias]);
    followed.push(alias);
    const next = Object.hasOwn(aliases, alias) ? aliases[alias] : undefined;
    if (next === undefined) throw unknownAliasError(followed, Object.keys(aliases));
    current = next;
  }
  return current;
}

function aliasCycleError(followed: readonly string[]): JpError {
  return new JpError(
    "model_alias_cycle",
    `The model alias \`${followed[0]}\` refers to itself: ${followed.join(" → ")}.`,
    { hint: "See providers.llm.aliases." },
  );
}

function unknownAliasError(followed: readonly string[], known: readonly string[]): JpError {
  const alias = followed.at(-1) ?? "";
  const from = followed.length === 1 ? "" : ` (from ${followed.slice(0, -1).join(" → ")})`;
  const closest = findClosest(alias, known);
  const define = /^[\w-]+$/.test(alias)
    ? `, or define it with \`jp config set providers.llm.aliases.${alias} provider/name\``
    : "";
  const hint = closest === undefined ? "Write provider/name." : `Did you mean ${closest}?`;
  return new JpError("unknown_model_alias", `Unknown model alias \`${alias}\`${from}.`, {
    hint,
    ...(closest === undefined && { commandHint: `Write provider/name${define}.` }),
  });
}
