/** Records each rule's place in its layer, so that a decision can name it, and a workspace cannot pass for the user. */
import type { Layer } from "./layers.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { type PolicyList, ruleKey, type RulePlace } from "./policy-list.ts";
import type { PartialToolConfig } from "./schema/tool.ts";

/** A conversation has no rules: it may come from anywhere, and rules say whom to ask here. */
export function placeRules(layer: Layer): Layer {
  let digest: string | undefined;
  const file = () => (digest ??= layer.digest?.());
  const tools: Readonly<Record<string, PartialToolConfig>> = layer.config.conversation?.tools ?? {};
  const placed = Object.entries(tools).flatMap(([name, { policy }]) => {
    if (policy === undefined) return [];
    const { run, result } = policy;
    const own = {
      ...(run !== undefined && { run: placeList(run, { layer, file, name, of: "run" }) }),
      ...(result !== undefined && {
        result: placeList(result, { layer, file, name, of: "result" }),
      }),
    };
    return [[name, { ...tools[name], policy: own }] as const];
  });
  if (placed.length === 0) return layer;
  const { conversation } = layer.config;
  const config: PartialConfig = {
    ...layer.config,
    conversation: { ...conversation, tools: { ...tools, ...Object.fromEntries(placed) } },
  };
  return { ...layer, config };
}

interface ListPlace {
  readonly layer: Layer;
  /** The digest of the layer's file. */
  readonly file: () => string | undefined;
  readonly name: string;
  readonly of: "run" | "result";
}

function placeList(list: PolicyList, { layer, file, name, of }: ListPlace): PolicyList {
  const from = fromOf(layer);
  const rules = list.rules.map((rule, index) => {
    const key = ruleKey(name, of, index);
    const shared = name === "*" && { isShared: true };
    const digest = file();
    const read = digest !== undefined && { file: digest };
    return { ...rule, place: { from, key, layer: layer.name, ...read, ...shared } };
  });
  return { ...list, rules };
}

function fromOf({ isFromWorkspace, isTemporary, isFromEnvironment }: Layer): RulePlace["from"] {
  if (isFromWorkspace === true) return "workspace";
  if (isTemporary === true) return "command_line";
  return isFromEnvironment === true ? "environment" : "user";
}
