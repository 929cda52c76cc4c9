/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/call_event.h"

#include "dat/registry/call.h"

DREG_EXPORT DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
				      DAT_CNO_HANDLE *cno)
{
	DREG_IA(ia);

	return DREG_CALL(cno_create_func, ia, agent, cno);
}

DREG_EXPORT DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	DREG_OBJECT(cno, HANDLE_CNO);

	return DREG_CALL(cno_modify_agent_func, cno, agent);
}

DREG_EXPORT DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask,
				     DAT_CNO_PARAM *param)
{
	DREG_OBJECT(cno, HANDLE_CNO);

	return DREG_CALL(cno_query_func, cno, mask, param);
}

DREG_EXPORT DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno)
{
	DREG_OBJECT(cno, HANDLE_CNO);

	DREG_LAST(cno_free_func, cno);
}

DREG_EXPORT DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	DREG_OBJECT(cno, HANDLE_CNO);

	return DREG_CALL(cno_wait_func, cno, timeout, evd);
}

DREG_EXPORT DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
				      DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DREG_IA(ia);

	DREG_ALSO(cno, HANDLE_CNO);
	return DREG_CALL(evd_create_func, ia, qlen, cno, flags, evd);
}

DREG_EXPORT DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask,
				     DAT_EVD_PARAM *param)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_query_func, evd, mask, param);
}

DREG_EXPORT DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	DREG_ALSO(cno, HANDLE_CNO);
	return DREG_CALL(evd_modify_cno_func, evd, cno);
}

DREG_EXPORT DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_enable_func, evd);
}

DREG_EXPORT DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_disable_func, evd);
}

DREG_EXPORT DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
				    DAT_EVENT *event, DAT_COUNT *nmore)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_wait_func, evd, timeout, threshold, event, nmore);
}

DREG_EXPORT DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_resize_func, evd, qlen);
}

DREG_EXPORT DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_post_se_func, evd, event);
}

DREG_EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_dequeue_func, evd, event);
}

DREG_EXPORT DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	DREG_LAST(evd_free_func, evd);
}

DREG_EXPORT DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_set_unwaitable_func, evd);
}

DREG_EXPORT DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
	DREG_OBJECT(evd, HANDLE_EVD_REQUEST);

	return DREG_CALL(evd_clear_unwaitable_func, evd);
}

DREG_EXPORT DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno)
{
	DREG_IA(ia);

	return dreg_classed(DREG_CALL(cno_fd_create_func, ia, fd, cno));
}

DREG_EXPORT DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	DREG_OBJECT(cno, HANDLE_CNO);

	return dreg_classed(DREG_CALL(cno_trigger_func, cno, evd));
}
