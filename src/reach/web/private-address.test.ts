import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { isPrivateAddress } from "./private-address.ts";

test.each([
  ["this network", "0.0.0.0", "0.255.255.255"],
  ["private, class A", "10.0.0.0", "10.255.255.255"],
  ["private, class B", "172.16.0.0", "172.31.255.255"],
  ["private, class C", "192.168.0.0", "192.168.255.255"],
  ["shared by customers", "100.64.0.0", "100.127.255.255"],
  ["loopback", "127.0.0.1", "127.255.255.255"],
  ["link-local", "169.254.0.0", "169.254.255.255"],
  ["the credentials of a cloud", "169.254.169.254", "100.100.100.200"],
  ["Azure, to its machines", "168.63.129.16", "168.63.129.16"],
  ["protocols", "192.0.0.0", "192.0.0.255"],
  ["documents", "192.0.2.1", "203.0.113.255"],
  ["relays", "192.88.99.0", "192.88.99.255"],
  ["benchmarks", "198.18.0.0", "198.19.255.255"],
  ["multicast", "224.0.0.0", "239.255.255.255"],
  ["reserved", "240.0.0.0", "255.255.255.255"],
  ["IPv6: unspecified and loopback", "::", "::1"],
  ["IPv6: containing IPv4", "::7f00:1", "::127.0.0.1"],
  ["IPv6: mapped IPv4", "::ffff:10.0.0.1", "::ffff:a00:1"],
  ["IPv6: mapped public IPv4", "::ffff:1.1.1.1", "0:0:0:0:0:ffff:101:101"],
  ["IPv6: NAT64", "64:ff9b::7f00:1", "64:ff9b:1::1"],
  ["IPv6: 6to4", "2002:7f00:1::", "2002:c0a8:101::1"],
  ["IPv6: tunnels", "2001::1", "2001:1ff:ffff::1"],
  ["IPv6: documents", "2001:db8::1", "3fff::1"],
  ["IPv6: unique local", "fc00::1", "fdff:ffff::1"],
  ["IPv6: the credentials of a cloud", "fd00:ec2::254", "FD00:EC2::254"],
  ["IPv6: link-local", "fe80::1", "febf::1"],
  ["IPv6: site-local", "fec0::1", "feff::1"],
  ["IPv6: multicast", "ff02::1", "ff0e::1"],
  ["IPv6: discard", "100::1", "5f00::1"],
  ["with a zone", "fe80::1%eth0", "2606:4700::1111%eth0"],
  ["not an address", "localhost", ""],
])("an address is private: %s", (_range, first, last) => {
  counters("T-WEB-1");
  expect([isPrivateAddress(first), isPrivateAddress(last)]).toEqual([true, true]);
});

test.each([
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "198.20.0.1",
  "223.255.255.255",
  "2606:4700::1111",
  "2001:4860:4860::8888",
  "2003::1",
])("an address is public: %s", (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});
