/** `jp evidence anchor`: anchors the log of heads at the places in the user's own config. */
import { type AnchorSettings, foldLayers, resolveAnchor } from "../../../settings/config/index.ts";
import { type Anchor, anchorHeads, digestOfDocument } from "../../../proof/index.ts";
import { findWorkspace } from "../../../assemble/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import { JpError, jsonLine } from "../../../util/index.ts";
import { type CommandContext, untilSignal, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { loadConfig } from "../../load-config.ts";
import { counted } from "./wording.ts";
import type { FORMAT_OPTIONS } from "../../options.ts";

export async function anchor({ options, context }: Call<typeof FORMAT_OPTIONS>): Promise<void> {
  const { environment, clock, output } = context;
  const root = findWorkspace(context)?.root ?? context.cwd;
  const settings = await configuredAnchor(context);
  using stop = untilSignal(context);
  const { signal } = stop;
  const { made, last, lost } = await anchorHeads({ root, environment, settings, clock, signal });
  if (options.format === "json") {
    output.print(
      jsonLine({ anchored: made?.document.heads.length ?? 0, lost, ...describeJson(made) }),
    );
  } else {
    for (const row of wrapProse(describe(made, last), output.lineWidth)) output.print(row);
  }
  if (lost > 0) {
    warn(`${counted(lost, "head")} were anchored that heads.jsonl no longer has.`, output);
  }
}

/**
 * Ignores workspace config, which may neither set nor disable anchoring. Throws `anchor_not_configured`,
 * `config_invalid`.
 */
async function configuredAnchor(context: CommandContext): Promise<AnchorSettings> {
  const layers = await loadConfig(context, {});
  const own = layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true);
  const settings = resolveAnchor(foldLayers(own));
  if (settings !== undefined) return settings;
  throw new JpError("anchor_not_configured", "Your config does not say where to anchor.", {
    hint: "Set proof.anchor.timestamp or proof.anchor.git in your own config. See docs/proof.md.",
  });
}

function describe(made: Anchor | undefined, last: Anchor | undefined): string {
  if (made === undefined) {
    return last === undefined
      ? "Nothing to anchor: nothing has been decided yet."
      : `Nothing new to anchor since ${last.at}.`;
  }
  const { document, proof } = made;
  const what = `Anchored ${counted(document.heads.length, "head")} of chains`;
  return proof.kind === "timestamp"
    ? `${what} with a time stamp from ${new URL(proof.url).host}.`
    : `${what} in commit ${proof.commit} on ${proof.branch} of ${proof.remote}.`;
}

function describeJson(made: Anchor | undefined) {
  if (made === undefined) return {};
  const { at, document, proof } = made;
  const sha256 = digestOfDocument(document);
  if (proof.kind === "timestamp") return { at, sha256, kind: proof.kind, url: proof.url };
  return { at, sha256, ...proof };
}
