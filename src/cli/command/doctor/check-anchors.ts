/** Whether decisions are anchored as often as the user's own config says. */
import {
  type AnchorSettings,
  foldLayers,
  type Layer,
  resolveAnchor,
} from "../../../settings/config/index.ts";
import { anchorState } from "../../../proof/index.ts";
import type { CommandContext } from "../../context.ts";
import { type Finding, findingFromError } from "./finding.ts";

const check = "anchors";
const MAX_AGE_MS = 2 * 24 * 60 * 60 * 1000;

/** Reports nothing unless anchoring is configured. */
export function checkAnchors(
  { environment, clock }: CommandContext,
  layers: readonly Layer[],
): readonly Finding[] {
  let settings: AnchorSettings | undefined;
  try {
    settings = resolveAnchor(
      foldLayers(layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true)),
    );
  } catch (error) {
    return [findingFromError(check, error)];
  }
  if (settings === undefined) return [];
  const { lastAt, failedAt, hasNew } = anchorState(environment);
  const last =
    lastAt === undefined
      ? "Nothing is anchored yet"
      : `Last anchored ${new Date(lastAt).toISOString()}`;
  if (failedAt !== undefined) {
    const message = `The last attempt failed, ${new Date(failedAt).toISOString()}. ${last}.`;
    const hint = "To try again, and see why: jp evidence anchor";
    return [{ check, state: "warning", message, hint }];
  }
  const isOld = lastAt === undefined || clock.now().getTime() - lastAt > MAX_AGE_MS;
  if (settings.isDaily && hasNew && isOld) {
    const hint = "jp anchors after a turn. To do it now: jp evidence anchor";
    return [{ check, state: "warning", message: `${last}.`, hint }];
  }
  return [{ check, state: "ok", message: last }];
}
