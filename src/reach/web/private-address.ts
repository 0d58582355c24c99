/** Tells the addresses of the public internet from all others. */
import { BlockList, isIP } from "node:net";

/** Every range that IANA does not list as globally reachable, and addresses that clouds reserve for their machines. */
const IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ["0.0.0.0", 8], // This network.
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // Carrier-grade NAT.
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's, for its machines.
  ["169.254.0.0", 16], // Link-local; clouds serve credentials there.
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24], // Documentation, like two more below.
  ["192.88.99.0", 24], // Relays to IPv6.
  ["192.168.0.0", 16],
  ["198.18.0.0", 15], // Benchmarks.
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4], // Multicast.
  ["240.0.0.0", 4], // Reserved, and broadcast.
];

/** All public addresses begin with 001; that leaves out mapped IPv4, NAT64, unique local, link-local and multicast. */
const PUBLIC_IPV6 = ["2000::", 3] as const;

const IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ["2001::", 23], // Protocols, such as tunnels.
  ["2001:db8::", 32], // Documentation.
  ["2002::", 16], // Contains an IPv4 address: 6to4.
  ["3fff::", 20], // Documentation.
];

const reserved = new BlockList();
for (const [network, prefix] of IPV4) reserved.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of IPV6) reserved.addSubnet(network, prefix, "ipv6");
const publicIpv6 = new BlockList();
publicIpv6.addSubnet(...PUBLIC_IPV6, "ipv6");

/** Also true for anything that is not an address, such as one with a zone. */
export function isPrivateAddress(address: string): boolean {
  if (address.includes("%")) return true;
  switch (isIP(address)) {
    case 4:
      return reserved.check(address, "ipv4");
    case 6:
      return !publicIpv6.check(address, "ipv6") || reserved.check(address, "ipv6");
    default:
      return true;
  }
}
