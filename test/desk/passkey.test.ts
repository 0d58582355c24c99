/** Approvals that have to be signed, on the page, with a virtual authenticator of the browser. */
import type { CDPSession, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import {
  chatRequest,
  permissionRequest,
  toolCall,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import { type ConversationEvent, eventsOf, isAnswer } from "../../src/record/conversation/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import {
  type DeskProcess,
  fragmentOf,
  leave,
  openPage,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

const EVENTS: readonly ConversationEvent[] = [
  turnStart(),
  chatRequest("Go."),
  toolCall("a"),
  {
    ...permissionRequest("a"),
    forAny: [{ role: "release" }],
    terms: { isSigned: true },
    subject: { digest: "d1", version: 1, parts: {} },
  },
];
const ID = "a:run:1";

/** A page of ada, who may approve, in a browser with an authenticator. */
async function open() {
  const project = new Project();
  const store = storeOf(project);
  const conversation = await leave(store, EVENTS);
  const added = await project.jp("serve", "people", "add", "ada", "--roles", "release");
  const desk = await startDesk(project);
  const context = await openContext();
  const address = `${desk.pageUrl}/${fragmentOf(conversation, ID)}`;
  const page = await openPage(context, address, added.stdout.trimEnd());
  const authenticator = await Authenticator.start(await context.newCDPSession(page));
  const answers = async () => {
    const { stream } = await store.load(conversation);
    return [...eventsOf(stream.entries)].filter(isAnswer);
  };
  return { project, desk, context, page, authenticator, answers, conversation };
}

type Opened = Pick<Awaited<ReturnType<typeof open>>, "project" | "desk" | "page">;

/** As a phone or a computer has it. */
class Authenticator {
  readonly #session: CDPSession;
  readonly #id: string;

  private constructor(session: CDPSession, id: string) {
    this.#session = session;
    this.#id = id;
  }

  static async start(
    session: CDPSession,
    transport: "internal" | "usb" = "internal",
  ): Promise<Authenticator> {
    await session.send("WebAuthn.enable");
    const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return new Authenticator(session, authenticatorId);
  }

  /** Whether it recognizes the person. */
  async verify(isUserVerified: boolean): Promise<void> {
    const authenticatorId = this.#id;
    await this.#session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
  }
}

/** With a link from the command line, as the first one takes it. */
async function addPasskey({ project, desk, page }: Opened): Promise<void> {
  const words = ["link", "ada", "--origin", desk.pageUrl];
  const { stdout } = await project.jp("serve", "people", ...words);
  const back = page.url();
  await page.evaluate((link) => location.assign(link), stdout.trimEnd());
  await page.getByText("Your link lets you add or replace one passkey.").waitFor();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("button", { name: /^Remove the passkey/ }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.evaluate((address) => location.assign(address), back);
}

async function openPasskeys(page: Page): Promise<void> {
  await page.locator(".account").click();
  await page.getByRole("button", { name: "Passkeys" }).click();
}

const yes = (page: Page) => page.locator("[data-key=y]");

interface Sent {
  readonly body: { readonly signature: { readonly client_data: string; readonly sig: string } };
  readonly authorization: string;
  readonly url: string;
}

function signedWith(sent: Sent, changed: Partial<Sent["body"]["signature"]>): Sent {
  const { body } = sent;
  return { ...sent, body: { ...body, signature: { ...body.signature, ...changed } } };
}

/** The next answer that the page sends, as it is sent. It does not arrive. */
async function catchAnswer(page: Page): Promise<Sent> {
  const caught = Promise.withResolvers<Sent>();
  await page.route("**/answer*", async (route) => {
    const request = route.request();
    caught.resolve({
      body: JSON.parse(request.postData() ?? "") as Sent["body"],
      authorization: request.headers()["authorization"] ?? "",
      url: request.url(),
    });
    await route.abort();
  });
  await yes(page).click();
  const answer = await caught.promise;
  await page.unroute("**/answer*");
  return answer;
}

/** Sends it again, as a program would that has seen it. */
async function send(desk: DeskProcess, { authorization, url, body }: Sent) {
  const { pathname, search } = new URL(url);
  const response = await fetch(`${desk.url}${pathname}${search}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", authorization },
  });
  const { error } = (await response.json()) as { readonly error?: { readonly code: string } };
  return error?.code ?? "recorded";
}

test("an approval with a passkey is one click and one gesture, and has the person's signature on record", async () => {
  const opened = await open();
  const { page, answers } = opened;
  await addPasskey(opened);
  await page.getByText("A yes is signed with your passkey.").waitFor();
  await yes(page).click();
  await page.getByText("Answer sent.").waitFor();
  expect(await answers()).toMatchObject([
    { decision: "approved", decidedBy: { name: "ada" }, signature: { type: "webauthn" } },
  ]);
});

test("an approval without a passkey says where to add one, and a no needs none", async () => {
  const { page, answers } = await open();
  await yes(page).click();
  await page.getByText("Add a passkey first").waitFor();
  expect(await answers()).toEqual([]);
  await page.locator("[data-key=n]").click();
  await page.getByText("Answer sent.").waitFor();
  expect(await answers()).toMatchObject([{ decision: "denied" }]);
});

test("an approval is not sent if the person cancels the gesture", async () => {
  const opened = await open();
  const { page, answers } = opened;
  await addPasskey(opened);
  await page.evaluate(() => {
    // As browsers say it.
    const cancelled = new DOMException("The operation is not allowed.", "NotAllowedError");
    navigator.credentials.get = () => Promise.reject(cancelled);
  });
  await yes(page).click();
  await page.getByText("Not signed: it was cancelled, or took too long.").waitFor();
  expect(await answers()).toEqual([]);
});

test("an approval is not sent if the passkey does not recognize the person", async () => {
  counters("T-SIGN-4");
  const opened = await open();
  const { page, authenticator, answers } = opened;
  await addPasskey(opened);
  await authenticator.verify(false);
  await yes(page).click();
  await page.getByText("Not signed: it was cancelled, or took too long.").waitFor();
  expect(await answers()).toEqual([]);
  await authenticator.verify(true);
  await yes(page).click();
  await page.getByText("Answer sent.").waitFor();
});

test("a signature is refused if it was used before, is of another answer, or is changed", async () => {
  counters("T-SIGN-2");
  const opened = await open();
  const { page, desk, answers } = opened;
  await addPasskey(opened);
  const first = await catchAnswer(page);
  expect([
    await send(desk, signedWith(first, { sig: "AAAA" })),
    await send(desk, first), // Its nonce is used up.
  ]).toEqual(["signature_refused", "signature_refused"]);
  const second = await catchAnswer(page);
  expect(await send(desk, signedWith(second, first.body.signature))).toBe("signature_refused");
  expect(await answers()).toEqual([]);
  expect(await send(desk, second)).toBe("recorded");
  expect(await answers()).toHaveLength(1);
});

test("a signature is refused that a page of another origin has got", async () => {
  counters("T-SIGN-4");
  const opened = await open();
  const { page, desk, answers, context } = opened;
  await addPasskey(opened);
  const answer = await catchAnswer(page);
  const { signature } = answer.body;
  const client = Buffer.from(signature.client_data, "base64url").toString("utf8");
  const elsewhere = client.replace(desk.pageUrl, "http://evil.localhost");
  const client_data = Buffer.from(elsewhere).toString("base64url");
  expect(await send(desk, signedWith(answer, { client_data }))).toBe("signature_refused");
  // A browser gives the passkey to no other page.
  const other = await context.newPage();
  onTestFinished(() => other.close());
  const { hostname } = new URL(desk.pageUrl);
  await other.goto(`http://127.0.0.1:${desk.port}/api/v1/openapi.json`);
  const problem = await other.evaluate(
    (rpId) =>
      navigator.credentials
        .get({ publicKey: { challenge: new Uint8Array(32), rpId } })
        .then(() => "signed")
        .catch((error: unknown) => (error as Error).name),
    hostname,
  );
  expect([problem, await answers()]).toEqual(["SecurityError", []]);
});

test("a signature is refused without user verification, whatever the browser says", async () => {
  counters("T-SIGN-4");
  const opened = await open();
  const { page, answers, authenticator } = opened;
  await addPasskey(opened);
  // A page that does not ask for it.
  await page.evaluate(() => {
    const { credentials } = navigator;
    const get = credentials.get.bind(credentials);
    credentials.get = (options) =>
      get({
        publicKey: {
          challenge: new Uint8Array(),
          ...options?.publicKey,
          userVerification: "discouraged",
        },
      });
  });
  await authenticator.verify(false);
  await yes(page).click();
  await page.getByText("This signature is of something else").waitFor();
  expect(await answers()).toEqual([]);
});

test("a passkey is added only by the person themself, with their own token", async () => {
  counters("T-SIGN-4");
  const { project, desk, context } = await open();
  const page = await openPage(context, desk.login);
  await Authenticator.start(await context.newCDPSession(page));
  await openPasskeys(page);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("log in with your own token").waitFor();
  const listed = await project.jp("serve", "people", "key", "ls", "--format", "json");
  expect(listed.stdout).toBe("");
});

test("a link that is opened without a login asks for the token, and then adds the passkey", async () => {
  const { project, desk } = await open();
  const token = (await project.jp("serve", "people", "token", "ada")).stdout.trimEnd();
  const words = ["link", "ada", "--origin", desk.pageUrl];
  const { stdout } = await project.jp("serve", "people", ...words);
  const context = await openContext();
  const page = await context.newPage();
  await Authenticator.start(await context.newCDPSession(page));
  await page.goto(stdout.trimEnd());
  await page.getByText("Log in with your own token to add a passkey.").waitFor();
  expect(page.url()).not.toContain("jpl_");
  await page.getByLabel("Your personal token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("button", { name: /^Remove the passkey/ }).waitFor();
  const listed = await project.jp("serve", "people", "key", "ls", "--format", "json");
  expect(listed.stdout).toContain('"person":"ada"');
});

test("another passkey is signed by the one that is there, and so is removing it", async () => {
  counters("T-SIGN-5");
  const opened = await open();
  const { page, project, context } = opened;
  await addPasskey(opened);
  await openPasskeys(page);
  // One authenticator makes only one passkey for a person. The first one can still sign.
  await Authenticator.start(await context.newCDPSession(page), "usb");
  const buttons = (name: string) => page.getByRole("button", { name: new RegExp(`^${name} the`) });
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await expect.poll(() => buttons("Remove").count()).toBe(2);
  await buttons("Remove").first().click();
  await expect.poll(() => buttons("Remove").count()).toBe(1);
  const log = (await project.jp("serve", "people", "log", "--format", "json")).stdout;
  const whats = log.split("\n").flatMap((line) => /"what":"(key_\w+)"/.exec(line)?.[1] ?? []);
  expect(whats).toEqual(["key_added", "key_added", "key_removed"]);
});

test("a change of keys is shown at the next login in each browser, until it is dismissed there", async () => {
  counters("T-SIGN-5");
  const opened = await open();
  const { page, desk, project } = opened;
  await addPasskey(opened);
  const heading = "The keys that you sign with have changed";
  await page.reload();
  await page.getByText("allowed by a link").waitFor();
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.reload();
  await page.getByText("Live").waitFor();
  expect(await page.getByText(heading).count()).toBe(0);
  const token = (await project.jp("serve", "people", "token", "ada")).stdout.trimEnd();
  const other = await openPage(await openContext(), desk.pageUrl, token);
  await other.getByText(heading).waitFor();
});
