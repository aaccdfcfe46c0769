import { expect, test } from 'vitest';
import { isPublic, refusalReason } from '../../functions/push/guard.ts';

test.each([
  'https://example.com/hook',
  'https://example.com:8443/hook?a=b',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  'https://bücher.example/',
])('%s may be pushed to', (url) => {
  expect(refusalReason(url, {})).toBeNull();
});

const forbidden = `
  http://example.com/ ftp://example.com/ file:///etc/passwd javascript:alert(1)
  https://example.com:22/ https://example.com:6379/ https://user@example.com/
  https://user:secret@example.com/ https://localhost/ https://LOCALHOST./ https://a.localhost/
  https://db.internal/ https://metadata.google.internal/ https://printer.local/ https://router.lan/
  https://nas.home.arpa/ https://redis/ https://127.0.0.1/ https://127.1/ https://2130706433/
  https://0x7f000001/ https://0177.0.0.1/ https://0/ https://0.0.0.0/ https://10.1.2.3/
  https://172.16.0.1/ https://172.31.255.255/ https://192.168.0.1/
  https://169.254.169.254/latest/meta-data https://100.64.0.1/ https://192.0.2.1/
  https://198.18.0.1/ https://224.0.0.1/ https://240.0.0.1/ https://255.255.255.255/
  https://１２７.0.0.1/ https://[::]/ https://[::1]/ https://[::127.0.0.1]/ https://[::ffff:127.0.0.1]/
  https://[::ffff:8.8.8.8]/ https://[::ffff:7f00:1]/ https://[64:ff9b::7f00:1]/
  https://[64:ff9b:1::a00:1]/ https://[2002:7f00:1::]/ https://[2001:0:7f00:1::]/
  https://[2001:db8::1]/ https://[fe80::1]/ https://[fc00::1]/ https://[fd12:3456::1]/
  https://[fec0::1]/ https://[ff02::1]/ https://[100::1]/`;

test.each([...forbidden.trim().split(/\s+/), 'not a url', ''])('%s may not', (url) => {
  expect(refusalReason(url, {})).toEqual(expect.any(String));
});

test('with TOCK_PUSH_PRIVATE private addresses and http are allowed, and nothing else', () => {
  const env = { TOCK_PUSH_PRIVATE: 'allow' };
  expect(refusalReason('http://127.0.0.1:8080/', env)).toBeNull();
  expect(refusalReason('http://redis/', env)).toBeNull();
  expect(refusalReason('ftp://example.com/', env)).not.toBeNull();
  expect(refusalReason('http://user@localhost/', env)).not.toBeNull();
  expect(refusalReason('http://127.0.0.1/', { TOCK_PUSH_PRIVATE: 'yes' })).not.toBeNull();
});

test('only a public unicast address counts as public', () => {
  expect(isPublic('8.8.8.8')).toBe(true);
  for (const address of ['', 'example.com', '::ffff:10.0.0.1', 'fe80::1%eth0', '4000::1']) {
    expect(isPublic(address)).toBe(false);
  }
});
