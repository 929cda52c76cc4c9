/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arguments and results of NFS as grammars, from the XDR descriptions of RFC 1094, RFC 1813, RFC 7531,
 * RFC 5662, RFC 7863, RFC 8276 and RFC 8275.
 *
 *   u 4 bytes         h 8 bytes         s 16 bytes (stateid, session, device)
 *   f 84 (fattr3)     g 68 (fattr2)     F 32 (fhandle of version 2)
 *   o opaque<>, string<>                b bitmap: an array of words
 *   D opaque<> that is eligible         N count of bytes that a read asks for
 *   L no bytes: a read of unknown length
 *   [x] array of x    {x} list of x with a word before each element
 *   ?(x) x if a word is not 0           <1:x|2:y|*:z> union by a word
 */
#ifndef ULP_RPCRDMA_NFS_OPS_H
#define ULP_RPCRDMA_NFS_OPS_H

#define G_ATTR    "bo"
#define G_CHANGE  "uhh"
#define G_TIME    "hu"
#define G_ACE     "uuuo"
#define G_OWNER   "ho"
#define G_DENIED  "hhu" G_OWNER
#define G_NETLOC  "<1:o|2:o|3:oo>"
#define G_CHANNEL "uuuuuu[u]"
#define G_IMPL    "[oo" G_TIME "]"
#define G_SECPARM "[<0:|1:uouu[u]|6:uoo>]"
#define G_DELEG   "<0:|1:su" G_ACE "|2:su<1:h|2:uu>" G_ACE "|3:<1:u|2:u|*:>>"
#define G_CLAIM   "<0:o|1:u|2:so|3:o|4:|5:s|6:>"
#define G_CREATE  "<0:" G_ATTR "|1:" G_ATTR "|2:h|3:h" G_ATTR ">"
#define G_SECINFO "[<6:ouu|*:>]"
#define G_WRITTEN "[s]huh"
#define G_IOINFO  "hh"

/*	operation, arguments, results with status 0 (RFC 7531, RFC 5662, RFC 7863: nfs_opnum4) */
#define RPR_NFS4_OPS(O)                                                                          \
	O(3,  "u", "uu")                                           /* ACCESS */                  \
	O(4,  "us", "s")                                           /* CLOSE */                   \
	O(5,  "hu", "h")                                           /* COMMIT */                  \
	O(6,  "<5:D|3:uu|4:uu|*:>o" G_ATTR, G_CHANGE "b")          /* CREATE */                  \
	O(7,  "h", "")                                             /* DELEGPURGE */              \
	O(8,  "s", "")                                             /* DELEGRETURN */             \
	O(9,  "b", G_ATTR)                                         /* GETATTR */                 \
	O(10, "", "o")                                             /* GETFH */                   \
	O(11, "o", G_CHANGE)                                       /* LINK */                    \
	O(12, "uuhh<1:usu" G_OWNER "|0:su>", "s")                  /* LOCK */                    \
	O(13, "uhh" G_OWNER, "")                                   /* LOCKT */                   \
	O(14, "uushh", "s")                                        /* LOCKU */                   \
	O(15, "o", "")                                             /* LOOKUP */                  \
	O(16, "", "")                                              /* LOOKUPP */                 \
	O(17, G_ATTR, "")                                          /* NVERIFY */                 \
	O(18, "uuu" G_OWNER "<0:|1:" G_CREATE ">" G_CLAIM,                                       \
	      "s" G_CHANGE "ub" G_DELEG)                           /* OPEN */                    \
	O(19, "u", "")                                             /* OPENATTR */                \
	O(20, "su", "s")                                           /* OPEN_CONFIRM */            \
	O(21, "suuu", "s")                                         /* OPEN_DOWNGRADE */          \
	O(22, "o", "")                                             /* PUTFH */                   \
	O(23, "", "")                                              /* PUTPUBFH */                \
	O(24, "", "")                                              /* PUTROOTFH */               \
	O(25, "shN", "uD")                                         /* READ */                    \
	O(26, "hhuub", "h{ho" G_ATTR "}u")                         /* READDIR */                 \
	O(27, "L", "D")                                            /* READLINK */                \
	O(28, "o", G_CHANGE)                                       /* REMOVE */                  \
	O(29, "oo", G_CHANGE G_CHANGE)                             /* RENAME */                  \
	O(30, "h", "")                                             /* RENEW */                   \
	O(31, "", "")                                              /* RESTOREFH */               \
	O(32, "", "")                                              /* SAVEFH */                  \
	O(33, "o", G_SECINFO)                                      /* SECINFO */                 \
	O(34, "s" G_ATTR, "b")                                     /* SETATTR */                 \
	O(35, "houoou", "hh")                                      /* SETCLIENTID */             \
	O(36, "hh", "")                                            /* SETCLIENTID_CONFIRM */     \
	O(37, G_ATTR, "")                                          /* VERIFY */                  \
	O(38, "shuD", "uuh")                                       /* WRITE */                   \
	O(39, G_OWNER, "")                                         /* RELEASE_LOCKOWNER */       \
	O(40, "u" G_SECPARM, "")                                   /* BACKCHANNEL_CTL */         \
	O(41, "suu", "suu")                                        /* BIND_CONN_TO_SESSION */    \
	O(42, "hou<0:|1:bb|2:bb[o][o]uu>" G_IMPL,                                                \
	      "huu<0:|1:bb|2:bbuuuu[o]>hoo" G_IMPL)                /* EXCHANGE_ID */             \
	O(43, "huu" G_CHANNEL G_CHANNEL "u" G_SECPARM,                                           \
	      "suu" G_CHANNEL G_CHANNEL)                           /* CREATE_SESSION */          \
	O(44, "s", "")                                             /* DESTROY_SESSION */         \
	O(45, "s", "")                                             /* FREE_STATEID */            \
	O(46, "ub" G_TIME G_TIME "bb", "<0:hsbb|1:u>")             /* GET_DIR_DELEGATION */      \
	O(47, "suub", "uob")                                       /* GETDEVICEINFO */           \
	O(48, "uuhh", "hh[s]u")                                    /* GETDEVICELIST */           \
	O(49, "hhus?(h)?(" G_TIME ")uo", "?(h)")                   /* LAYOUTCOMMIT */            \
	O(50, "uuuhhhsu", "us[hhuuo]")                             /* LAYOUTGET */               \
	O(51, "uuu<1:hhso|*:>", "?(s)")                            /* LAYOUTRETURN */            \
	O(52, "u", G_SECINFO)                                      /* SECINFO_NO_NAME */         \
	O(53, "suuuu", "suuuuu")                                   /* SEQUENCE */                \
	O(54, "oo", "o")                                           /* SET_SSV */                 \
	O(55, "[s]", "[u]")                                        /* TEST_STATEID */            \
	O(56, "u<1:u|*:>", G_DELEG)                                /* WANT_DELEGATION */         \
	O(57, "h", "")                                             /* DESTROY_CLIENTID */        \
	O(58, "u", "")                                             /* RECLAIM_COMPLETE */        \
	O(59, "shh", "")                                           /* ALLOCATE */                \
	O(60, "sshhhuu[" G_NETLOC "]", G_WRITTEN "uu")             /* COPY */                    \
	O(61, "s" G_NETLOC, G_TIME "s[" G_NETLOC "]")              /* COPY_NOTIFY */             \
	O(62, "shh", "")                                           /* DEALLOCATE */              \
	O(63, "shhb", "b")                                         /* IO_ADVISE */               \
	O(64, "hhs[suu]", "")                                      /* LAYOUTERROR */             \
	O(65, "hhs" G_IOINFO G_IOINFO "suo", "")                   /* LAYOUTSTATS */             \
	O(66, "s", "")                                             /* OFFLOAD_CANCEL */          \
	O(67, "s", "h[u]")                                         /* OFFLOAD_STATUS */          \
	O(68, "shu", "u[<0:ho|1:hh>]")                             /* READ_PLUS */               \
	O(69, "shu", "uh")                                         /* SEEK */                    \
	O(70, "suhhhhuho", G_WRITTEN)                              /* WRITE_SAME */              \
	O(71, "sshhh", "")                                         /* CLONE */                   \
	O(72, "o", "o")                                            /* GETXATTR */                \
	O(73, "uoo", G_CHANGE)                                     /* SETXATTR */                \
	O(74, "hu", "h[o]u")                                       /* LISTXATTRS */              \
	O(75, "o", G_CHANGE)                                       /* REMOVEXATTR */

/*	operation, status, results with that status: the few errors that return more than it */
#define RPR_NFS4_ERRORS(O)                                                                       \
	O(12, 10010, G_DENIED)     /* LOCK: NFS4ERR_DENIED */                                    \
	O(13, 10010, G_DENIED)     /* LOCKT */                                                   \
	O(35, 10017, "oo")         /* SETCLIENTID: NFS4ERR_CLID_INUSE */                         \
	O(47, 10005, "u")          /* GETDEVICEINFO: NFS4ERR_TOOSMALL */                         \
	O(50, 10058, "u")          /* LAYOUTGET: NFS4ERR_LAYOUTTRYLATER */                       \
	O(60, 10094, "uu")         /* COPY: NFS4ERR_OFFLOAD_NO_REQS */

/*	version, procedure, arguments, results, small reply (RFC 1094, RFC 1813). Other procedures have no
 *	eligible data; those of version 3 whose replies may be long are marked. */
#define RPR_NFS23_PROCS(P)                                                                       \
	P(2, 5,  "F", "<0:D|*:>", false)                           /* READLINK */                \
	P(2, 6,  "FuNu", "<0:gD|*:>", false)                       /* READ */                    \
	P(2, 8,  "FuuuD", NULL, true)                              /* WRITE */                   \
	P(2, 13, "FoD", NULL, true)                                /* SYMLINK */                 \
	P(2, 16, "", NULL, false)                                  /* READDIR */                 \
	P(3, 5,  "o", "<0:?(f)D|*:>", false)                       /* READLINK */                \
	P(3, 6,  "ohN", "<0:?(f)uuD|*:>", false)                   /* READ */                    \
	P(3, 7,  "ohuuD", NULL, true)                              /* WRITE */                   \
	P(3, 10, "oo?(u)?(u)?(u)?(h)<0:|1:|2:uu><0:|1:|2:uu>D", NULL, true) /* SYMLINK */        \
	P(3, 16, "", NULL, false)                                  /* READDIR */                 \
	P(3, 17, "", NULL, false)                                  /* READDIRPLUS */

#endif
