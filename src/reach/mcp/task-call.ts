/**
 * Calls a tool that runs only as a task, in the protocol of 2025: the server returns the task at once, and its result
 * on request. The server's questions arrive while jp waits for the result.
 */
import type { CallToolRequestOptions, CallToolResult, Client } from "@modelcontextprotocol/client";
import { abortable, type JsonObject } from "../../util/index.ts";
import type { Sdk } from "./transport.ts";

interface TaskCall {
  readonly client: Client;
  readonly sdk: Sdk;
  readonly params: JsonObject;
  readonly options: CallToolRequestOptions & { readonly signal: AbortSignal };
}

/** On abort, the task is cancelled. Throws the signal's reason, or the SDK's error. */
export async function callAsTask({ client, sdk, params, options }: TaskCall) {
  const { signal, ...others } = options;
  const { CreateTaskResult, CancelTaskResult, CallToolResult: Result } = sdk.specTypeSchemas;
  const request = { method: "tools/call", params: { ...params, task: {} } };
  // Not aborted itself: only its reply has the id of the task to cancel.
  const created = client.request(request, CreateTaskResult, others);
  const cancel = async () => {
    const { taskId } = (await created).task;
    await client.request({ method: "tasks/cancel", params: { taskId } }, CancelTaskResult, others);
  };
  const onAbort = () => void cancel().catch(() => undefined); // It may have ended already.
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { taskId } = (await abortable(created, signal)).task;
    const asked = { method: "tasks/result", params: { taskId } };
    const result: CallToolResult = await client.request(asked, Result, options);
    return result;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
