export {
  fingerprintOf,
  hasSigned,
  parsePublicPart,
  type Passkey,
  type PersonKey,
  type PublicPart,
  publicPartOf,
  publicPartToJson,
} from "./keys.ts";
export { createSigner, loadAgent, makeKeyFile, readKeyFile } from "./signer.ts";
export {
  type Absence,
  DEFAULT_RIGHTS,
  hashOf,
  looksLike,
  newSecret,
  openDirectory,
  openPeople,
  type People,
  type Person,
  type PersonSettings,
  type Right,
  RIGHTS,
} from "./people.ts";
