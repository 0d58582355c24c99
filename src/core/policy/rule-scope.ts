/** The calls that a rule covers, as data. It does not say whether the rule applies. */
import type { RuleConfig } from "../../settings/config/index.ts";
import type { GrantScope } from "../../record/conversation/index.ts";
import type { ArgumentKind } from "../../reach/executor/index.ts";
import type { GrantLimits } from "../../record/tool/index.ts";

/** `kind`: that of the rule's argument, or of the argument whose part it names. */
export function scopeOf(
  rule: RuleConfig,
  kind: ArgumentKind | undefined,
  limits?: GrantLimits,
): GrantScope {
  return { ...callsOf(rule, kind), ...(limits !== undefined && { limits }) };
}

function callsOf(rule: RuleConfig, kind: ArgumentKind | undefined): Omit<GrantScope, "limits"> {
  const { arg, prefix, const: value, enum: values = [value] } = rule;
  const texts = values.filter((each) => typeof each === "string");
  const isPlain =
    rule.questions === undefined && rule.tool === undefined && rule.server === undefined;
  const whole: ReturnType<typeof callsOf> = { code: "rule", parts: [JSON.stringify(rule)] };
  if (!isPlain || arg === undefined) return whole;
  if (arg === "" && value !== undefined)
    return { code: "exact_call", parts: [JSON.stringify(value)] };
  const areTexts = texts.length > 0 && texts.length === values.length;
  switch (kind) {
    case "path":
      if (prefix !== undefined) return { code: "folder", parts: [prefix] };
      return areTexts ? { code: "files", parts: texts } : whole;
    case "command":
      if (prefix !== undefined) return { code: "command_prefix", parts: [prefix] };
      return typeof value === "string" ? { code: "command", parts: [value] } : whole;
    case "url":
      return arg.endsWith("/host") && areTexts ? { code: "host", parts: texts } : whole;
    default:
      return whole;
  }
}
