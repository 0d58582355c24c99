/** Measures the next request of a conversation, without a message and without sending it. */
import { type ContextUse, loadWindow } from "../core/agent/index.ts";
import { type RequestPart, timestampFromDate } from "../record/conversation/index.ts";
import { resolveCompaction } from "../settings/config/index.ts";
import { attachToTurn } from "./attachments.ts";
import { withSurroundings } from "./inquiry-models.ts";
import { type OpenTurnOptions, reachModel, settleConfig } from "./open-turn.ts";
import { machineOf, type Place } from "./place.ts";
import { switchServerTools } from "./server-tools.ts";
import { openTools, serversForTurn } from "./tools.ts";

/** The next request, as far as it is known before the message. */
export interface NextRequest extends ContextUse {
  /** The model's ID. */
  readonly model: string;
  /** In tokens. They add up to `tokens`. */
  readonly parts: Readonly<Record<RequestPart, number>>;
}

type NextTurn = Pick<
  OpenTurnOptions,
  "found" | "settings" | "attach" | "servers" | "findTruster" | "isSession"
> & { readonly signal: AbortSignal };

/** Starts the servers whose tools the model would get. Records nothing. Throws what `openTurn` throws before it records. */
export async function measureNextRequest(place: Place, options: NextTurn): Promise<NextRequest> {
  // Only the turn itself reports what it attaches.
  const quiet: Place = { ...place, notice: () => {}, printed: new Set() };
  const { found, settings: { directives = [] } = {}, signal } = options;
  const settled = await settleConfig(quiet, options);
  const { model } = await reachModel(quiet, options, settled);
  const { config: before } = settled.trusted;
  const machine = machineOf(place);
  await using opened = await serversForTurn(machine, before, options.servers);
  const { servers } = opened;
  const switched = await switchServerTools(before, { directives, servers });
  const { assistant } = settled;
  const attaching = { config: switched, servers, model, assistant };
  const attached = await attachToTurn(attaching, options.attach ?? [], quiet);
  const { config, attachments } = attached;
  await using tools = openTools(machine, config, { servers });
  await found?.stream.load?.();
  const { clock } = place;
  const createdAt = timestampFromDate(clock.now());
  const {
    contextWindow = (await model.properties?.(assistant.parameters, signal))?.contextWindow,
  } = resolveCompaction(config);
  const { measureParts } = await loadWindow();
  return {
    model: model.id,
    ...(contextWindow !== undefined && { contextWindow }),
    ...measureParts({
      assistant: withSurroundings(assistant, await settled.surroundings.complete),
      attachments,
      clock,
      tools: await tools.toolbox.schemas(signal),
      journal: { stream: found?.stream ?? { createdAt, baseConfig: {}, entries: [] } },
    }),
  };
}
