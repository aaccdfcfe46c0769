declare module '*.css';

/** The version of the package, which the build fills in. */
declare const TOCK_VERSION: string;
