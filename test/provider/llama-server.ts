/**
 * A double of llama.cpp's server. It writes each conversation as one text, as a chat template does, keeps the
 * texts in slots as the real one does, and tells how much of each prompt it had to read.
 */
import type { JsonObject } from "../../src/util/index.ts";
import { type Answer, type CapturedRequest, CaptureServer } from "./capture-server.ts";
import { sse, WIRE, type WireReply } from "./wire.ts";

export interface LlamaOptions {
  /** Default: any free one. */
  readonly port?: number;
  /** Default: 4. */
  readonly slots?: number;
  /** In tokens. Default: 32768. */
  readonly window?: number;
  readonly quirks?: readonly Quirk[];
  /** How many requests find it loading its model. Default: none. */
  readonly loading?: number;
  /** Wanted with every request, if there is one. */
  readonly apiKey?: string;
  /** What it lists. Default: one model, by the path of its file. */
  readonly models?: readonly JsonObject[];
  /** Writes the replies. Default: `Hello.` */
  readonly reply?: (body: ChatBody) => LlamaReply | Failure | Promise<LlamaReply | Failure>;
}

export type Quirk =
  /** Mistral: the tools stand before the last message of the user, too. */
  | "alternating_roles"
  /** Mistral. */
  | "nine_letter_ids"
  /** Llama 3. */
  | "single_calls"
  /** Gemma 2: neither calls nor a system message. */
  | "plain_talk"
  /** Qwen 3: what the model thought before the last message of the user is left out. */
  | "strips_thinking"
  /** The server was started without the flag. */
  | "no_jinja";

export interface LlamaReply extends WireReply {
  /** Chunks to send before the reply, in their own time. */
  readonly before?: AsyncIterable<string>;
}

/** As the server says it. */
interface Failure {
  readonly code: number;
  readonly message: string;
  readonly type: string;
}

/** What jp sends. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: string;
  readonly response_format?: JsonObject;
  readonly return_progress?: boolean;
}

interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ChatCall[];
  readonly tool_call_id?: string;
}

interface ChatCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** One request for a reply, and what became of it. */
export interface Chat {
  readonly body: ChatBody;
  readonly refusal?: string;
  /** Tokens of the prompt, and how many of them were not in the slot. */
  readonly prompt?: number;
  readonly evaluated?: number;
}

/** What the server sends while a reply takes its time. */
export const KEEP_ALIVE = ":\n\n";

/** A chunk that says how much of the prompt has been read. */
export function promptProgress(processed: number, total: number): string {
  const choices = [{ index: 0, delta: { role: "assistant", content: null }, finish_reason: null }];
  return sse({ choices, prompt_progress: { total, cache: 0, processed, time_ms: 1 } });
}

export class LlamaServer implements AsyncDisposable {
  readonly chats: Chat[] = [];
  readonly #http: CaptureServer;
  readonly #options: LlamaOptions;
  readonly #slots: Slots;
  #loading: number;

  private constructor(http: CaptureServer, options: LlamaOptions) {
    this.#http = http.answer((request) => this.#answer(request));
    this.#options = options;
    this.#slots = new Slots(options.slots ?? 4);
    this.#loading = options.loading ?? 0;
  }

  static async start(options: LlamaOptions = {}): Promise<LlamaServer> {
    return new LlamaServer(await CaptureServer.start(options.port), options);
  }

  get url(): string {
    return this.#http.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** All of them, with their headers. */
  get requests(): readonly CapturedRequest[] {
    return this.#http.requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http[Symbol.asyncDispose]();
  }

  async #answer({ path, headers, body }: CapturedRequest): Promise<Answer> {
    const { apiKey, models, window = 32_768 } = this.#options;
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) {
      return fail({ code: 401, message: "Invalid API Key", type: "authentication_error" });
    }
    if (this.#loading > 0) {
      this.#loading -= 1;
      return fail({ code: 503, message: "Loading model", type: "unavailable_error" });
    }
    switch (path.replace(/\?.*/, "")) {
      case "/v1/chat/completions":
        return this.#chat(body as ChatBody, window);
      case "/v1/models": {
        const meta = { n_ctx: window, n_ctx_train: 131_072 };
        return answerJson({ data: models ?? [{ id: "/models/Qwen3-8B-Q4_K_M.gguf", meta }] });
      }
      case "/props":
        return answerJson({
          default_generation_settings: { n_ctx: window },
          chat_template_caps: { supports_tool_calls: !this.#has("plain_talk") },
        });
      default:
        return fail({ code: 404, message: "File Not Found", type: "not_found_error" });
    }
  }

  async #chat(body: ChatBody, window: number): Promise<Answer> {
    const { reply: write = () => ({ text: "Hello." }) } = this.#options;
    const text = render(body, (quirk) => this.#has(quirk));
    const prompt = tokensIn(text);
    const refusal = findRefusal(body, (quirk) => this.#has(quirk)) ?? tooLong(prompt, window);
    if (refusal !== undefined) {
      this.chats.push({ body, refusal: refusal.message });
      return fail(refusal);
    }
    const slot = await this.#slots.take(text);
    const cached = tokensIn(text.slice(0, commonLength(slot.text, text)));
    this.chats.push({ body, prompt, evaluated: prompt - cached });
    slot.text = text;
    const reply = await write(body);
    const written = "code" in reply ? "" : renderReply(reply);
    const isFull = prompt + tokensIn(written) > window;
    if ("code" in reply || isFull) {
      this.#slots.release(slot);
      return fail("code" in reply ? reply : CONTEXT_FULL);
    }
    slot.text += written;
    const usage = {
      prompt_tokens: prompt,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: tokensIn(written),
      total_tokens: prompt + tokensIn(written),
    };
    return { chunks: this.#send({ ...reply, usage }, slot) };
  }

  async *#send(reply: LlamaReply, slot: Slot): AsyncGenerator<string> {
    yield* reply.before ?? [];
    const [...chunks] = WIRE.llamacpp(reply);
    // Before the client can see the end, so that its next request finds the slot.
    this.#slots.release(slot);
    yield* chunks;
  }

  #has(quirk: Quirk): boolean {
    return this.#options.quirks?.includes(quirk) === true;
  }
}

type Has = (quirk: Quirk) => boolean;

function answerJson(body: JsonObject, status = 200): Answer {
  const headers = { "content-type": "application/json" };
  return { status, headers, chunks: [JSON.stringify(body)] };
}

function fail({ code, message, type }: Failure): Answer {
  return answerJson({ error: { code, message, type } }, code);
}

/** While it writes. */
const CONTEXT_FULL: Failure = {
  code: 500,
  message: "Context size has been exceeded.",
  type: "server_error",
};

function tooLong(prompt: number, window: number): Failure | undefined {
  if (prompt <= window) return undefined;
  const message = `request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`;
  return { code: 400, message, type: "exceed_context_size_error" };
}

function findRefusal({ messages, tools }: ChatBody, has: Has): Failure | undefined {
  const calls = messages.map(({ tool_calls: made = [] }) => made);
  if (has("no_jinja") && tools !== undefined) {
    return { code: 500, message: "tools param requires --jinja flag", type: "server_error" };
  }
  if (has("plain_talk") && messages[0]?.role === "system") {
    return raiseException("System role not supported");
  }
  if (has("plain_talk") && !doAlternate(messages)) {
    return raiseException(`Conversation roles must alternate ${ALTERNATION}`);
  }
  if (has("alternating_roles") && !doAlternate(messages.filter(isTalk))) {
    const rule = `conversation roles must alternate ${ALTERNATION}`;
    return raiseException(`After the optional system message, ${rule}`);
  }
  if (has("nine_letter_ids") && !calls.flat().every(({ id }) => /^[a-z0-9]{9}$/i.test(id))) {
    return raiseException("Tool call IDs should be alphanumeric strings with length 9!");
  }
  if (has("single_calls") && calls.some(({ length }) => length > 1)) {
    return raiseException("This model only supports single tool-calls at once!");
  }
  return undefined;
}

const ALTERNATION = "user/assistant/user/assistant/...";

function doAlternate(messages: readonly ChatMessage[]): boolean {
  return messages.every(({ role }, index) => (role === "user") === (index % 2 === 0));
}

function isTalk({ role, tool_calls: calls }: ChatMessage): boolean {
  return role === "user" || (role === "assistant" && calls === undefined);
}

/** As the template does, and as the server reports it. */
function raiseException(words: string): Failure {
  const message =
    "Unable to generate parser for this template. Automatic parser generation failed: \n" +
    "------------\nWhile executing CallExpression at line 7, column 32 in source:\n" +
    `...\nError: Jinja Exception: ${words}`;
  return { code: 400, message, type: "invalid_request_error" };
}

/** The text that the model reads, up to the first word of its reply. */
function render({ messages, tools = [] }: ChatBody, has: Has): string {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const toolsAt = has("alternating_roles") ? lastUser : 0;
  const pieces = messages.map((message, index) => {
    const { reasoning_content: thought, ...rest } = message;
    const isStripped = has("strips_thinking") && index < lastUser;
    const text = renderMessage(isStripped || thought === undefined ? rest : message);
    const described = index === toolsAt ? `<tools>\n${JSON.stringify(tools)}\n</tools>\n` : "";
    return `${described}<|${message.role}|>\n${text}<|end|>\n`;
  });
  return `${pieces.join("")}<|assistant|>\n`;
}

function renderReply({ text = "", reasoning, calls = [] }: LlamaReply): string {
  const made = calls.map(({ id, name, input }) => ({ id, function: { name, arguments: input } }));
  return renderMessage({
    content: text,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    tool_calls: made,
  });
}

function renderMessage(message: Omit<ChatMessage, "role">): string {
  const { content, reasoning_content: thought, tool_calls: calls = [] } = message;
  return [
    thought === undefined ? "" : `<think>\n${thought}\n</think>\n\n`,
    content ?? "",
    ...calls.map(
      ({ function: { name, arguments: input } }) => `<tool_call>\n${name} ${input}\n</tool_call>\n`,
    ),
  ].join("");
}

/** Words and punctuation marks. */
function tokensIn(text: string): number {
  return text.match(/\w+|[^\w\s]/g)?.length ?? 0;
}

function commonLength(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return length;
}

/** What the model has read and written, ready to be continued. */
interface Slot {
  text: string;
  isBusy: boolean;
  lastUse: number;
}

/** The share of a prompt that a slot must have to be chosen for it. */
const SIMILAR = 0.1;

class Slots {
  readonly #slots: readonly Slot[];
  readonly #waiting: (() => void)[] = [];
  #uses = 0;

  constructor(count: number) {
    this.#slots = Array.from({ length: count }, () => ({ text: "", isBusy: false, lastUse: 0 }));
  }

  /** The idle slot that begins most like the prompt; if none does, the one that was idle longest. */
  async take(prompt: string): Promise<Slot> {
    for (;;) {
      const idle = this.#slots.filter(({ isBusy }) => !isBusy);
      const [longestIdle] = idle.toSorted((one, other) => one.lastUse - other.lastUse);
      const [similar] = idle
        .map((slot) => ({ slot, shared: commonLength(slot.text, prompt) }))
        .filter(({ shared }) => shared > SIMILAR * prompt.length)
        .toSorted((one, other) => other.shared - one.shared);
      const slot = similar?.slot ?? longestIdle;
      if (slot !== undefined) {
        slot.isBusy = true;
        return slot;
      }
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  release(slot: Slot): void {
    slot.isBusy = false;
    this.#uses += 1;
    slot.lastUse = this.#uses;
    this.#waiting.shift()?.();
  }
}
