/** Which model is meant: aliases are followed until one names a provider. */
import { CodedError, nearest } from "../util/index.ts";
import type { ModelId } from "./schema/model-id.ts";
import { ownValue } from "./schema-node.ts";

export type ResolvedModelId = Extract<ModelId, { readonly provider: string }>;

type Aliases = Readonly<Record<string, ModelId>>;

/** Throws `no_model`, `unknown_model_alias`, `model_alias_cycle`. */
export function resolveModelId(id: ModelId | undefined, aliases: Aliases): ResolvedModelId {
  if (id === undefined) throw noModel();
  const followed: string[] = [];
  let current = id;
  while ("alias" in current) {
    const { alias } = current;
    if (followed.includes(alias)) throw cycle([...followed, alias]);
    followed.push(alias);
    const next = ownValue(aliases, alias) as ModelId | undefined; // One of the table's values.
    if (next === undefined) throw unknownAlias(followed, Object.keys(aliases));
    current = next;
  }
  return current;
}

function noModel(): CodedError {
  return new CodedError("no_model", "No model is configured.", {
    hint: "Set one with `jp config set assistant.model.id provider/name`, or name it with -m.",
  });
}

function cycle(followed: readonly string[]): CodedError {
  return new CodedError(
    "model_alias_cycle",
    `The model alias \`${followed[0]}\` leads to no model: ${followed.join(" → ")}.`,
    { hint: "See providers.llm.aliases." },
  );
}

function unknownAlias(followed: readonly string[], known: readonly string[]): CodedError {
  const alias = followed.at(-1) ?? "";
  const from = followed.length === 1 ? "" : ` (by ${followed.slice(0, -1).join(" → ")})`;
  const close = nearest(alias, known);
  return new CodedError("unknown_model_alias", `There is no model alias \`${alias}\`${from}.`, {
    hint:
      close === undefined
        ? `Write provider/name, or define it with \`jp config set providers.llm.aliases.${alias} provider/name\`.`
        : `Did you mean ${close}?`,
  });
}
