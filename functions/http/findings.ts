export type Finding = {
  finding: string;
  severity: string;
  detail: string;
  hint: string;
};

/** The name of a finding's page in docs/findings, such as the-clocks-differ. */
export const pageName = (finding: string) => finding.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '-');

/** Adds the path of the finding's page, which the server shows. */
export const withPage = <T extends { finding: string }>(finding: T): T & { page: string } => ({
  ...finding,
  page: `/findings/${pageName(finding.finding)}`,
});
