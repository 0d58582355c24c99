/**
 * A time stamp authority for tests: openssl behind a small server. Without openssl, the tests that need it are skipped,
 * with one message.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { beforeEach, onTestFinished } from "vitest";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";

const isSkipped = !hasOpenssl() && process.env["JP_REQUIRE_OPENSSL"] !== "1";

if (isSkipped) {
  process.stderr.write("Skipping the tests of time stamps. Install openssl to run them.\n");
}

function hasOpenssl(): boolean {
  try {
    return execFileSync("openssl", ["version"], { encoding: "utf8" }).startsWith("OpenSSL");
  } catch {
    return false;
  }
}

/** Skips the tests of a file or a `describe` without openssl. With JP_REQUIRE_OPENSSL=1, they fail instead. */
export function useOpenssl(): void {
  beforeEach(({ skip }) => skip(isSkipped, "no openssl"));
}

export interface Authority {
  /** The authority's root certificate: a PEM file. */
  readonly root: string;
  /** The authority's response to a request. */
  readonly reply: (query: Buffer) => Buffer;
  /** Whether `openssl ts -verify` accepts a response for the digest. */
  readonly accepts: (response: Buffer, sha256: string) => boolean;
}

export interface AuthorityOptions {
  readonly key?: "rsa" | "ec";
  /** The certificate's validity. */
  readonly days?: number;
  /** The signature's digest. */
  readonly digest?: "sha256" | "sha512";
  /** The digests it accepts in requests. */
  readonly digests?: string;
}

const KEYS = { rsa: "rsa:2048", ec: "ec -pkeyopt ec_paramgen_curve:P-256" };

export function createAuthority({
  key = "ec",
  days = 30,
  digest = "sha256",
  digests = "sha256",
}: AuthorityOptions = {}): Authority {
  const folder = temporaryFolder();
  const at = (name: string) => path.join(folder, name);
  writeFileSync(at("serial"), "01\n");
  writeFileSync(
    at("config"),
    `[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical, CA:true
[signer]
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = authority
[authority]
serial = ${at("serial")}
signer_cert = ${at("signer.pem")}
signer_key = ${at("signer.key")}
certs = ${at("root.pem")}
signer_digest = ${digest}
default_policy = 1.2.3.4.1
digests = ${digests}
ess_cert_id_alg = sha256
`,
  );
  const openssl = (words: string) =>
    execFileSync("openssl", words.split(" "), { cwd: folder, stdio: "pipe" });
  const create = "-nodes -config config -newkey";
  openssl(
    `req -x509 ${create} ${KEYS.ec} -keyout root.key -out root.pem -subj /CN=Root -extensions root`,
  );
  openssl(`req -new ${create} ${KEYS[key]} -keyout signer.key -out signer.csr -subj /CN=Authority`);
  const issuer = "-CA root.pem -CAkey root.key -CAcreateserial";
  const extensions = "-extfile config -extensions signer";
  openssl(`x509 -req -in signer.csr ${issuer} -days ${days} ${extensions} -out signer.pem`);
  return {
    root: at("root.pem"),
    reply: (query) => {
      writeFileSync(at("query"), query);
      openssl("ts -reply -config config -queryfile query -out response");
      return readFileSync(at("response"));
    },
    accepts: (response, sha256) => {
      writeFileSync(at("response"), response);
      try {
        const words = `ts -verify -digest ${sha256} -in response -CAfile root.pem`;
        return openssl(words).includes("OK");
      } catch {
        return false;
      }
    },
  };
}

export interface Answer {
  readonly status?: number;
  readonly body: Buffer;
}

/** Serves the answers until the test ends. Returns the URL. */
export async function serveAuthority(
  answer: (query: Buffer) => Answer | Promise<Answer>,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const { status = 200, body } = await answer(await buffer(request));
    response.writeHead(status, { "content-type": "application/timestamp-reply" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return `http://127.0.0.1:${port}/tsa`;
}
